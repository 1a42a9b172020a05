"""Options of the HTTP listener; does not import the libraries that serve HTTP."""

import importlib.util
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from api.http.limits import CONNECTIONS_MAX
from api.http.tokens import Tokens, read_tokens
from api.security.options import SecurityOptions
from api.security.tls import ClientAuth
from api.transport.addresses import parse_address, require_loopback
from api.transport.unix_sockets import UNIX
from records.errors import RequestError

HTTPS = "https://"
"""Prefix of an address with TLS."""

_LIBRARIES = ("litestar", "uvicorn", "httptools", "prometheus_client")


class HttpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the listener: a host and a port, 0 for any; or the path of a unix socket.

    Attributes:
        has_tls: True to use TLS, with the certificate that all listeners share.
        tokens: Principals by the digest of their bearer token; empty: no token is required.
        tokens_file: The file from which the tokens were read.
        connections_max: Maximum number of connections, besides those reserved for monitoring.
        traces: URL to which traces of requests are sent; None: there are none.
    """

    host: str | None = None
    port: int = 0
    path: Path | None = None
    has_tls: bool = False
    tokens: Tokens = {}
    tokens_file: Path | None = None
    connections_max: int = CONNECTIONS_MAX
    traces: str | None = None

    @classmethod
    def parse(
        cls,
        text: str,
        tokens: Path | None = None,
        security: SecurityOptions | None = None,
        *,
        connections_max: int = CONNECTIONS_MAX,
        traces: str | None = None,
    ) -> "HttpOptions":
        """Parse `[http://]HOST:PORT`, `https://HOST:PORT`, or `unix:PATH`.

        Args:
            tokens: A file of bearer tokens.
            security: The security options that all listeners share.
            traces: URL of the collector of traces.

        Raises:
            RequestError: INVALID_REQUEST, a text is malformed; other machines can reach the
                address without authentication; or the libraries are not installed. INVALID_CONFIG,
                the tokens cannot be read.
        """
        missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
        if missing:
            raise RequestError(
                "INVALID_REQUEST",
                f"HTTP needs {', '.join(missing)}: pip install 'metadata-log[http]'",
            )
        if traces is not None:
            _check_traces(traces)
        known = {} if tokens is None else read_tokens(tokens)
        if text == UNIX:
            raise RequestError("INVALID_REQUEST", f"{text!r} has no path; write unix:PATH")
        if text.startswith(UNIX):
            return cls(
                path=Path(text.removeprefix(UNIX)),
                tokens=known,
                tokens_file=tokens,
                connections_max=connections_max,
                traces=traces,
            )
        has_tls = text.startswith(HTTPS)
        scheme = HTTPS if has_tls else "http://"
        auth = ClientAuth.NONE if security is None else security.client_auth
        is_known = bool(known) or (has_tls and auth is ClientAuth.REQUIRED)
        host, port = parse_address(text.removeprefix(scheme))
        if not is_known:
            require_loopback(
                host, "add --http-tokens, or write https:// with --client-auth required"
            )
        return cls(
            host=host,
            port=port,
            has_tls=has_tls,
            tokens=known,
            tokens_file=tokens,
            connections_max=connections_max,
            traces=traces,
        )


def _check_traces(url: str) -> None:
    """Raise an error if traces cannot be sent to a URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RequestError(
            "INVALID_REQUEST", f"{url!r} is not a URL such as http://localhost:4318/v1/traces"
        )
    if importlib.util.find_spec("opentelemetry.exporter") is None:
        raise RequestError(
            "INVALID_REQUEST", "traces need OpenTelemetry: pip install 'metadata-log[otel]'"
        )
