"""Connects to a running service by URL, through its Kafka listener or its socket."""

from pathlib import Path

from api.clients.client import MetadataClient, ServerAddress, server_address
from api.security.client import ClientSecurity
from api.socket.client import SocketClient
from api.transport.unix_sockets import UNIX

SOCKET = "socket"
"""Scheme of the socket; `socket+sasl_ssl` and the like name a security protocol."""

_CLIENT_ID = "metalog"


async def connect(url: str) -> MetadataClient | SocketClient:
    """Connect to a service, with the user and the certificates in the file `$METALOG_CLIENT`.

    Args:
        url: `kafka://HOST:PORT`, `HOST:PORT`, or a URL with a security protocol, such as
            `sasl_ssl://HOST:PORT`; or the service's socket: `socket://HOST:PORT`,
            `socket+sasl_ssl://HOST:PORT` and the like, or `unix:PATH`.

    Raises:
        UnavailableError: no answer there, or a certificate is refused.
        RequestError: INVALID_REQUEST, the URL is malformed; or INVALID_CONFIG or
            SASL_AUTHENTICATION_FAILED.
    """
    if url.startswith(UNIX):
        return await SocketClient.connect_at(Path(url.removeprefix(UNIX)), client_id=_CLIENT_ID)
    at = _socket_address(url)
    if at is None:
        return await MetadataClient.connect(url)
    security = ClientSecurity.of_environment().used_with(at.protocol)
    return await SocketClient.connect(at.host, at.port, client_id=_CLIENT_ID, security=security)


def check_url(url: str) -> None:
    """Refuse a URL that `connect` does not take.

    Raises:
        RequestError: INVALID_REQUEST, the URL is malformed.
    """
    if not url.startswith(UNIX) and _socket_address(url) is None:
        server_address(url)


def _socket_address(url: str) -> ServerAddress | None:
    """Return the address of a service's socket; None if the URL is not one of a socket."""
    scheme, _, rest = url.partition("://")
    if scheme != SOCKET and not scheme.startswith(f"{SOCKET}+"):
        return None
    protocol = scheme.removeprefix(SOCKET).removeprefix("+")
    return server_address(f"{protocol}://{rest}" if protocol else rest)
