"""The address that the socket listens on, and the URLs for its clients."""

from pathlib import Path

from msgspec.structs import replace

from api.security.listeners import ListenerAddress, parse_listener
from api.security.options import SecurityOptions, is_authenticated
from api.transport.addresses import require_loopback
from api.transport.unix_sockets import UNIX
from records.errors import RequestError

NAME = "SOCKET"
"""Name of the listener, in logs and metrics."""


def parse_socket(text: str, security: SecurityOptions) -> ListenerAddress | Path:
    """Parse `[PROTOCOL://]HOST:PORT`, with the protocols of Kafka's listeners, or `unix:PATH`.

    Raises:
        RequestError: INVALID_REQUEST, the text is malformed, or other machines can reach the
            address without authentication.
    """
    if text.startswith(UNIX):
        path = text.removeprefix(UNIX)
        if not path:
            raise RequestError("INVALID_REQUEST", f"{text!r} has no path; write unix:PATH")
        return Path(path)
    address = replace(parse_listener(text), name=NAME)
    if not is_authenticated(address, security):
        require_loopback(
            address.host, "write sasl_ssl://, or ssl:// with --client-auth required, before it"
        )
    return address
