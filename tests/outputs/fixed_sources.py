"""Time and randomness that are the same in each run."""

import contextlib
import hashlib
import itertools
import random
import secrets
import socket
import time
import uuid
from collections.abc import Iterator
from unittest import mock

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


_PORT = 50_000
_GETPEERNAME = socket.socket.getpeername

_numbers = itertools.count()


@contextlib.contextmanager
def fixed_sources() -> Iterator[None]:
    """Stop the clocks of the log, draw the same random bytes in the same order, and give the
    clients of this process the same port.
    """

    def token_bytes(size: int | None = None) -> bytes:
        return hashlib.shake_128(b"%d" % next(_numbers)).digest(size or 32)

    def system_random() -> random.Random:
        return random.Random(next(_numbers))

    def uuid4() -> uuid.UUID:
        return uuid.UUID(bytes=token_bytes(16), version=4)

    def getpeername(self: socket.socket) -> object:
        name = _GETPEERNAME(self)
        return name if isinstance(name, str) else (name[0], _PORT, *name[2:])

    random.seed(1)
    with (
        mock.patch.object(socket.socket, "getpeername", getpeername),
        mock.patch.object(time, "time", return_value=NOW_MS / 1_000),
        mock.patch.object(time, "time_ns", return_value=NOW_MS * 1_000_000),
        mock.patch.object(secrets, "token_bytes", token_bytes),
        mock.patch.object(secrets, "token_hex", lambda size=None: token_bytes(size).hex()),
        mock.patch.object(
            secrets, "token_urlsafe", lambda size=None: token_bytes(size).hex()[: size or 32]
        ),
        mock.patch.object(time, "clock_gettime_ns", return_value=NOW_MS * 1_000_000),
        mock.patch.object(random, "SystemRandom", system_random),
        mock.patch.object(uuid, "uuid4", uuid4),
    ):
        yield
