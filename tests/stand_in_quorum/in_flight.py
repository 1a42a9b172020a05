"""Which requests are not answered yet, over all connections: a guest has one at a time."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.stand_in_quorum.connection import has_left


class InFlight:
    """The connections whose request is not answered. `changed` is notified when one leaves."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._connections: list[socket.socket] = []

    @property
    def is_idle(self) -> bool:
        """True if no request waits for its answer."""
        with self._changed:
            return not self._connections

    @contextmanager
    def request(self, connection: socket.socket) -> Iterator[bool]:
        """Count a request until its answer is sent; yield whether a client waits for another.

        A client that closed its connection no longer waits, though its request may be held, or be
        read only then.
        """
        with self._changed:
            open_ones = [each for each in self._connections if not has_left(each)]
            is_second = bool(open_ones) and not has_left(connection)
            self._connections.append(connection)
        try:
            yield is_second
        finally:
            with self._changed:
                self._connections.remove(connection)
                self._changed.notify_all()
