"""A client for the URL of a running service, whichever of its listeners the URL names."""

from api.client import MetadataClient, server_address
from api.socket.client import SocketClient

_SOCKET = "socket://"


async def connect(url: str) -> MetadataClient | SocketClient:
    """Connect to `kafka://HOST:PORT`, `HOST:PORT`, `socket://HOST:PORT`, or `sasl_ssl://HOST:PORT`
    and the like, with the user and the files of `$METALOG_CLIENT`.

    Raises:
        UnavailableError: no answer there.
        RequestError: INVALID_REQUEST, no such URL.
    """
    if url.startswith(_SOCKET):
        at = server_address(url.removeprefix(_SOCKET))
        return await SocketClient.connect(at.host, at.port, client_id="metalog")
    return await MetadataClient.connect(url)
