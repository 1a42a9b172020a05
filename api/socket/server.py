"""The socket's server: it takes appends, and answers each when it is committed.

Requests of one connection reach the log in the order in which they were sent; answers come in the
order in which the log gives them. There is no authentication: listen on loopback, or where everyone
who can connect may write.
"""

import asyncio

from api.socket import limits
from api.socket.connection import Appendable, Connection
from api.socket.room import Room
from records.errors import UnavailableError

LOOPBACK = "127.0.0.1"


class SocketServer:
    """Listens, and knows its connections. Made by `serve_socket`.

    Attributes:
        port: The port it listens on.
    """

    def __init__(self, log: Appendable, cluster_id: str) -> None:
        self._log = log
        self._cluster_id = cluster_id
        self._room = Room(limits.SERVER_REQUESTS_MAX, limits.SERVER_BYTES_MAX)
        self._connections: set[Connection] = set()
        self._listener: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> None:
        """Accept connections.

        Raises:
            UnavailableError: the address cannot be listened on.
        """
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(self._connect, host, port)
        except OSError as error:
            raise UnavailableError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self.port: int = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Take nothing more, answer what is in flight, disconnect; the log stays open."""
        assert self._listener is not None, "listen comes first"
        self._listener.close()
        for connection in list(self._connections):
            connection.finish()
        await self._wait_for_connections()
        for connection in list(self._connections):
            connection.abort()
        await self._wait_for_connections()

    async def _wait_for_connections(self) -> None:
        if self._connections:
            await asyncio.wait([c.done for c in self._connections], timeout=limits.CLOSE_TIMEOUT_S)

    def _connect(self) -> Connection:
        objection = None
        if len(self._connections) >= limits.CONNECTIONS_MAX:
            message = f"there are {limits.CONNECTIONS_MAX} connections already; try again later"
            objection = UnavailableError(message)
        connection = Connection(self._log, self._cluster_id, self._room, objection)
        self._connections.add(connection)
        connection.done.add_done_callback(lambda _: self._connections.discard(connection))
        return connection


async def serve_socket(
    log: Appendable, *, cluster_id: str, host: str = LOOPBACK, port: int = 0
) -> SocketServer:
    """Take appends to a log over a socket.

    Args:
        log: Commits the batches; stays open when the server is closed.
        cluster_id: Told to clients, and compared with what they expect.
        host: Who can reach it can write.
        port: 0 is any free one, see `SocketServer.port`.

    Raises:
        UnavailableError: the address cannot be listened on.
    """
    server = SocketServer(log, cluster_id)
    await server.listen(host, port)
    return server
