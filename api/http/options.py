"""Where HTTP is listened for; knows nothing of the libraries that serve it."""

import importlib.util
from pathlib import Path

import msgspec

from api.addresses import parse_address
from records.errors import RequestError

UNIX = "unix:"
"""Before the path of a unix socket."""

_LIBRARIES = ("litestar", "uvicorn", "prometheus_client")


class HttpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where to listen: a host and a port, 0 for any; or the path of a unix socket."""

    host: str | None = None
    port: int = 0
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "HttpOptions":
        """Read `HOST:PORT`, or `unix:PATH`.

        Raises:
            RequestError: INVALID_REQUEST, it is neither; other machines can reach the address and
                nobody is authenticated; or the libraries are not installed.
        """
        missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
        if missing:
            raise RequestError(
                "INVALID_REQUEST",
                f"HTTP needs {', '.join(missing)}: pip install 'metadata-log[http]'",
            )
        if text.startswith(UNIX):
            return cls(path=Path(text.removeprefix(UNIX)))
        host, port = parse_address(text)
        return cls(host=host, port=port)
