"""Connects to a running service by URL, through its Kafka listener or its socket."""

from pathlib import Path

from api.clients.client import (
    MetadataClient,
    ServerAddress,
    first_that_answers,
    server_addresses,
)
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
            `socket+sasl_ssl://HOST:PORT` and the like, or `unix:PATH`. The nodes of a service are
            written `HOST:PORT,HOST:PORT`; the first that answers is used, even if it stands by.

    Raises:
        UnavailableError: no answer there, or a certificate is refused.
        RequestError: INVALID_REQUEST, the URL is malformed; or INVALID_CONFIG or
            SASL_AUTHENTICATION_FAILED.
    """
    if url.startswith(UNIX):
        return await SocketClient.connect_at(Path(url.removeprefix(UNIX)), client_id=_CLIENT_ID)
    addresses = _socket_addresses(url)
    if not addresses:
        return await MetadataClient.connect(url)
    security = ClientSecurity.of_environment().used_with(addresses[0].protocol)

    async def to_socket(at: ServerAddress) -> SocketClient:
        return await SocketClient.connect(at.host, at.port, client_id=_CLIENT_ID, security=security)

    return await first_that_answers(addresses, to_socket)


def check_url(url: str) -> None:
    """Refuse a URL that `connect` does not take.

    Raises:
        RequestError: INVALID_REQUEST, the URL is malformed.
    """
    if is_kafka(url):
        server_addresses(url)


def is_kafka(url: str) -> bool:
    """Return whether a URL is that of a Kafka listener, not of a socket.

    Raises:
        RequestError: INVALID_REQUEST, the URL of a socket is malformed.
    """
    return not url.startswith(UNIX) and not _socket_addresses(url)


def has_nodes(url: str) -> bool:
    """Return whether a URL names several nodes."""
    return "," in url and not url.startswith(UNIX)


def node_count(url: str) -> int:
    """Return how many nodes a URL names; 1 if it names no list."""
    return url.count(",") + 1 if has_nodes(url) else 1


def next_first(url: str) -> str:
    """Return a URL of several nodes with its first address moved to the end."""
    scheme, separator, rest = url.rpartition("://")
    first, comma, others = rest.partition(",")
    return f"{scheme}{separator}{others}{comma}{first}" if comma else url


def _socket_addresses(url: str) -> tuple[ServerAddress, ...]:
    """Return the addresses of a service's sockets; none if the URL is not one of a socket."""
    scheme, _, rest = url.partition("://")
    if scheme != SOCKET and not scheme.startswith(f"{SOCKET}+"):
        return ()
    protocol = scheme.removeprefix(SOCKET).removeprefix("+")
    return server_addresses(f"{protocol}://{rest}" if protocol else rest)
