"""The HTTP listener of a service.

It listens before the log is loaded, so that its health can be asked; everything else is answered
once there is a service.
"""

import asyncio
import contextlib
import os
import socket
import stat
from pathlib import Path
from typing import Self

from uvicorn import Config
from uvicorn.server import ServerState

from api.acceptor import Acceptor
from api.connections import Connections
from api.http.app import make_app
from api.http.callers import Entrance
from api.http.gate import Gate
from api.http.limits import CLOSE_TIMEOUT_S, HEAD_SIZE_BYTES_MAX
from api.http.metrics import Sources
from api.http.options import UNIX, HttpOptions
from api.http.protocol import connections_of
from api.http.room import Room
from api.security.options import SecurityOptions
from api.security.principals import PrincipalMapping
from api.security.tls import server_context
from api.service import Service
from records.errors import UnavailableError

_NO_SECURITY = SecurityOptions()


class HttpServer:
    """Listens, and answers. Created by `listen`.

    Attributes:
        address: `HOST:PORT`, or `unix:PATH`.
        room: What its handlers share.
    """

    def __init__(self, room: Room, state: ServerState, acceptor: Acceptor, address: str) -> None:
        self.room = room
        self._state = state
        self._acceptor = acceptor
        self.address = address

    @classmethod
    async def listen(
        cls,
        options: HttpOptions,
        connections: Connections,
        security: SecurityOptions = _NO_SECURITY,
    ) -> Self:
        """Start to listen; answer health only, until `serve`.

        Raises:
            UnavailableError: the address cannot be listened on.
            RequestError: INVALID_CONFIG, the certificates cannot be used.
        """
        entrance = Entrance(host=options.host, has_tls=options.has_tls, tokens=options.tokens)
        room = Room(entrance)
        mapping = PrincipalMapping.parse(security.principal_rules)
        tls = server_context(security.tls, security.client_auth) if options.has_tls else None
        state = ServerState()
        config = Config(
            Gate(make_app(room), room),
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            http="h11",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=HEAD_SIZE_BYTES_MAX,
        )
        config.load()
        protocol = connections_of(config, state, connections, mapping)
        if options.path is not None:
            acceptor = Acceptor([_unix_socket(options.path)], protocol)
            return cls(room, state, acceptor, f"{UNIX}{options.path}")
        assert options.host is not None, "a host or a path is given"
        acceptor = await Acceptor.listen(protocol, options.host, options.port, tls)
        return cls(room, state, acceptor, f"{_bracketed(options.host)}:{acceptor.port}")

    def serve(self, service: Service, kafka: str, sources: Sources) -> None:
        """Answer everything from now on.

        Args:
            kafka: URL of the service's Kafka listener.
            sources: What metrics need of the process.
        """
        self.room.serve(service, kafka, sources)

    async def close(self) -> None:
        """Accept nothing more, answer what is in flight, disconnect; may be called again."""
        await self._acceptor.close()
        self.room.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                while self._state.tasks:
                    await asyncio.wait(self._state.tasks)
        for task in list(self._state.tasks):
            task.cancel()
        await asyncio.gather(*self._state.tasks, return_exceptions=True)
        for connection in list(self._state.connections):
            connection.transport.abort()
        if self.address.startswith(UNIX):
            Path(self.address.removeprefix(UNIX)).unlink(missing_ok=True)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket that only this user can connect to; a dead one in its place is replaced.

    Raises:
        UnavailableError: another process listens there, or the path cannot be made.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_dead(path):
            path.unlink()
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
        listening.listen()
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise UnavailableError(f"cannot listen on {path}: {error.strerror or error}") from error
    return listening


def _is_dead(path: Path) -> bool:
    """True for a socket on which nobody listens any more."""
    if not path.exists() or not stat.S_ISSOCK(path.lstat().st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False
