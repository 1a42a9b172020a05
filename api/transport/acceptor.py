"""Accepts connections as long as the process has file descriptors.

Without descriptors, asyncio's accept loop logs a traceback for each of up to 100 attempts and
schedules a retry for each. Here accepting pauses once, with at most one log line per second; open
connections continue.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from api.transport import limits
from api.transport.handshakes import handshake_problem
from api.transport.log_limit import limited_logger
from api.transport.unix_sockets import listening_at
from records.errors import UnavailableError

log = limited_logger(__name__)

_BACKLOG = 128


class Bound:
    """Sockets bound to one host and port, or to a path; nothing is accepted yet.

    A process binds all its addresses before it accepts connections on one of them: if a port
    is taken, the process ends before a client has connected. Created by `bind` and `bind_at`.
    """

    def __init__(self, name: str, sockets: list[socket.socket]) -> None:
        self._name, self._sockets = name, sockets

    @property
    def port(self) -> int:
        """The port; 0 for a unix socket."""
        return _port_of(self._sockets[0])

    def listen(self) -> list[socket.socket]:
        """Return the sockets, which now listen.

        Raises:
            UnavailableError: another process has begun to listen on the address.
        """
        try:
            for each in self._sockets:
                each.listen(_BACKLOG)
        except OSError as error:
            self.close()
            raise _cannot_listen(self._name, error) from error
        return self._sockets

    def close(self) -> None:
        """Release the address; may be called again, and after `listen`."""
        for each in self._sockets:
            each.close()


class Acceptor:
    """Listens on one address. Created by `listen`.

    Attributes:
        port: The port it listens on; 0 for a unix socket.
        tls: TLS context for connections from now on; None: no encryption.
    """

    def __init__(
        self,
        listening: list[socket.socket],
        protocol: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Start accepting in the running event loop."""
        self._listening = listening
        self._protocol = protocol
        self.tls = tls
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        # The oldest first.
        self._beginning: dict[asyncio.Task[None], None] = {}
        self.port: int = _port_of(listening[0])
        self._resume()

    @classmethod
    def listen(
        cls,
        protocol: Callable[[], asyncio.BaseProtocol],
        bound: Bound,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Start accepting connections.

        Args:
            protocol: Creates the protocol of each connection.
            tls: TLS context; the protocol is then created after the TLS handshake. None: no
                encryption.

        Raises:
            UnavailableError: another process has begun to listen on the address.
        """
        return cls(bound.listen(), protocol, tls)

    @classmethod
    def listen_at(cls, protocol: Callable[[], asyncio.BaseProtocol], path: Path) -> Self:
        """Start accepting connections of this process's user at a unix socket.

        `close` removes the socket's file.

        Raises:
            UnavailableError: another process listens there, or the path cannot be created.
        """
        return cls.listen(protocol, bind_at(path))

    async def close(self) -> None:
        """Stop accepting and cancel TLS handshakes; accepted connections stay open.

        May be called again.
        """
        if self._retry is not None:
            self._retry.cancel()
        while self._listening:
            listening = self._listening.pop()
            self._loop.remove_reader(listening)
            listening.close()
        if self.tls is not None:
            self._end_handshakes(self._beginning)
        await asyncio.gather(*self._beginning, return_exceptions=True)

    def _resume(self) -> None:
        self._retry = None
        for listening in self._listening:
            self._loop.add_reader(listening, self._accept, listening)

    def _pause(self) -> None:
        for listening in self._listening:
            self._loop.remove_reader(listening)
        self._retry = self._loop.call_later(limits.ACCEPT_PAUSE_S, self._resume)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(limits.ACCEPTS_A_TURN):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # out of descriptors or memory
                log.warning(
                    "no connections are accepted for %g s: %s", limits.ACCEPT_PAUSE_S, error
                )
                self._pause()
                return
            task = self._loop.create_task(self._begin(connection), name="accepted connection")
            self._beginning[task] = None
            task.add_done_callback(self._beginning.pop)
        self._end_oldest_handshakes()

    def _end_oldest_handshakes(self) -> None:
        excess = len(self._beginning) - limits.TLS_HANDSHAKES_MAX
        if self.tls is not None and excess > 0:
            log.warning("too many TLS handshakes at once: the oldest are ended")
            self._end_handshakes(list(self._beginning)[:excess])

    def _end_handshakes(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        for task in tasks:
            # Not at once: a task cancelled before its first step would leave its socket open.
            self._loop.call_soon(task.cancel)

    async def _begin(self, connection: socket.socket) -> None:
        peer = _name(connection)
        try:
            connection.setblocking(False)
            await self._loop.connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self.tls,
                ssl_handshake_timeout=limits.TLS_HANDSHAKE_TIMEOUT_S if self.tls else None,
            )
        except OSError as error:
            if self.tls is not None:
                log.warning("%s: %s", peer, handshake_problem(error))
            connection.close()  # the other side disconnected


def _name(connection: socket.socket) -> str:
    try:
        host, port = connection.getpeername()[:2]
    except (OSError, ValueError):
        return "a closed connection"
    return f"{host}:{port}"


async def bind(host: str, port: int) -> Bound:
    """Bind a socket to each address of a host; with port 0, the system chooses the port.

    Raises:
        UnavailableError: the address is in use, or does not belong to this machine.
    """
    name = f"{host}:{port}"
    loop = asyncio.get_running_loop()
    bound: list[socket.socket] = []
    try:
        found = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, address in dict.fromkeys([(info[0], info[4][:2]) for info in found]):
            bound.append(one := socket.socket(family, socket.SOCK_STREAM))
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
    except OSError as error:
        for one in bound:
            one.close()
        raise _cannot_listen(name, error) from error
    return Bound(name, bound)


def bind_at(path: Path) -> Bound:
    """Bind a unix socket, to which only this process's user can connect.

    Raises:
        UnavailableError: another process listens there, or the path cannot be created.
    """
    return Bound(str(path), [listening_at(path)])


def _cannot_listen(name: str, error: OSError) -> UnavailableError:
    why = error.strerror
    if error.errno and not isinstance(error, socket.gaierror):
        why = os.strerror(error.errno)
    return UnavailableError(f"cannot listen on {name}: {why}")


def _port_of(bound: socket.socket) -> int:
    address = bound.getsockname()
    return address[1] if isinstance(address, tuple) else 0
