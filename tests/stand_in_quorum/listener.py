"""A port of a node: accepts connections, each in its own thread; can be stopped and started."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

from tests.ports import held_port

HOST = "127.0.0.1"

Serve = Callable[[socket.socket], None]


class Listener:
    """Listens at a free port, which stays the same when it is stopped and started again."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self._serve = serve
        self._tls = tls
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._socket: socket.socket | None = None
        self._held, self.port = held_port()
        self.accepted = 0
        self.start()

    def start(self) -> None:
        """Listen; nothing if it does already."""
        if self._socket is not None:
            return
        self._socket = listening = socket.create_server((HOST, self.port))
        self._spawn(self._accept, listening)

    def stop(self) -> None:
        """Refuse connections and break the open ones, as a node that was killed."""
        listening, self._socket = self._socket, None
        if listening is not None:
            # Closing alone would leave the accepting thread waiting, and the port open.
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        self.drop()

    def drop(self) -> None:
        """Break the open connections and go on listening."""
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(10)
        self._held.close()

    def _spawn(self, target: Callable[[socket.socket], None], given: socket.socket) -> None:
        thread = threading.Thread(target=target, args=(given,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self.accepted += 1
                self._spawn(self._connection, connection)

    def _connection(self, raw: socket.socket) -> None:
        connection = raw
        with self._lock:
            self._connections.add(raw)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._socket is None:
                return
            if self._tls is None:
                self._serve(raw)
            else:
                # It takes the raw socket's descriptor, so it is what `drop` has to break.
                with self._tls.wrap_socket(raw, server_side=True) as connection:
                    with self._lock:
                        self._connections.add(connection)
                    self._serve(connection)
        except OSError:
            pass  # the client went away, was refused by TLS, or a fault closed the connection
        finally:
            with self._lock:
                self._connections -= {raw, connection}
            with contextlib.suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)
            raw.close()
