"""The socket's server: accepts appends and commands, and answers each when it is committed.

Requests of one connection reach the log in the order in which they were sent; answers are sent in
the order in which the log completes the requests. Without authentication, listen on loopback only,
or where every host that can connect may write.
"""

import asyncio
import ssl
from pathlib import Path

from api.security.listeners import OPEN, ListenerSecurity
from api.socket import limits
from api.socket.connection import Connection
from api.socket.in_flight import InFlightLimit
from api.socket.requests import SessionOf
from api.transport.acceptor import Acceptor, Bound, bind
from api.transport.connections import Connections, Quota

LOOPBACK = "127.0.0.1"


class SocketServer:
    """Listens, and tracks its connections. Created by `serve_socket`.

    Attributes:
        port: The port on which the server listens; 0 for a unix socket.
    """

    def __init__(
        self,
        session_of: SessionOf,
        cluster_id: str,
        connections: Connections,
        security: ListenerSecurity = OPEN,
    ) -> None:
        self._session_of = session_of
        self._security = security
        self._all_connections = connections
        self._quota = Quota(name="append socket", places_max=limits.CONNECTIONS_MAX)
        self._cluster_id = cluster_id
        self._in_flight_limit = InFlightLimit(limits.SERVER_REQUESTS_MAX, limits.SERVER_BYTES_MAX)
        self._connections: set[Connection] = set()
        self._acceptor: Acceptor | None = None

    def listen(self, bound: Bound) -> None:
        """Start to accept connections at a bound address.

        Raises:
            UnavailableError: the server cannot listen on the address.
        """
        self._listen(Acceptor.listen(self._connect, bound, self._security.tls))

    def listen_at(self, path: Path) -> None:
        """Start to accept connections at a unix socket; raises the errors of `listen`."""
        self._listen(Acceptor.listen_at(self._connect, path))

    def _listen(self, acceptor: Acceptor) -> None:
        self._acceptor = acceptor
        self.port: int = acceptor.port

    def renew(self, tls: ssl.SSLContext | None) -> None:
        """Use a new TLS context for connections from now on."""
        assert self._acceptor is not None, "listen comes first"
        self._acceptor.tls = tls

    async def close(self) -> None:
        """Stop accepting connections, answer requests in flight, disconnect; the log stays open."""
        assert self._acceptor is not None, "listen comes first"
        await self._acceptor.close()
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
        return Connection(
            self._session_of,
            self._cluster_id,
            self._in_flight_limit,
            self._all_connections,
            self._quota,
            self._security,
            self._connected,
        )

    def _connected(self, connection: Connection) -> None:
        self._connections.add(connection)
        connection.done.add_done_callback(lambda _: self._connections.discard(connection))


async def serve_socket(
    session_of: SessionOf,
    *,
    cluster_id: str,
    host: str = LOOPBACK,
    port: int = 0,
    path: Path | None = None,
    bound: Bound | None = None,
    connections: Connections | None = None,
    security: ListenerSecurity = OPEN,
) -> SocketServer:
    """Serve the requests to a service over a socket.

    Args:
        session_of: Returns the session of each caller, such as `Session` of a service.
        cluster_id: Sent to clients, and compared with the cluster id that they expect.
        host: Without authentication, every client that can reach this host can write.
        port: 0 means any free port, see `SocketServer.port`.
        path: Path of a unix socket to listen on, instead of host and port.
        bound: A bound address to listen on, instead of host and port.
        connections: Connection limits, usually shared by all listeners of the process; None: this
            server gets its own.
        security: The encryption and authentication required.

    Raises:
        UnavailableError: the server cannot listen on the address, or the process's limit of open
            files is too low.
    """
    connections = connections or Connections.of_process()
    server = SocketServer(session_of, cluster_id, connections, security)
    if path is None:
        server.listen(bound or await bind(host, port))
    else:
        server.listen_at(path)
    return server
