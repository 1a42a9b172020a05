"""Failures that a test orders: what goes wrong with the next answers, and how.

A fault is an object with some of four hooks; what it does not name stays as it is.
"""

import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.stand_in_quorum.fetch import FetchAnswer

_PATIENCE_S = 60


class CloseError(OSError):
    """The connection is to be closed now."""


class Fault:
    """Nothing goes wrong; the others change one of its hooks."""

    def before(self) -> None:
        """Run when the request was read and before it is answered."""

    def answer(self, answer: Any) -> Any:
        """Return what is encoded instead of `answer` (a FetchAnswer, a FetchSnapshotAnswer)."""
        return answer

    def hold(self, connection: socket.socket, frame: bytes) -> bytes:
        """Keep the client waiting; return what is left to send of the frame."""
        return frame

    def send(self, connection: socket.socket, frame: bytes) -> None:
        """Send the whole frame: length, header, message; or what is left of it."""
        connection.sendall(frame)


@dataclass(frozen=True)
class CloseAfter(Fault):
    """Send the first `size` bytes of the frame, then close; 0 closes without an answer."""

    size: int

    def send(self, connection: socket.socket, frame: bytes) -> None:
        connection.sendall(frame[: self.size])
        raise CloseError


@dataclass(frozen=True)
class Last(Fault):
    """Send the whole frame, then close."""

    def send(self, connection: socket.socket, frame: bytes) -> None:
        connection.sendall(frame)
        raise CloseError


@dataclass(frozen=True)
class Slow(Fault):
    """Wait before answering; with `piece` send that many bytes at a time, and wait before each."""

    seconds: float
    piece: int = 0

    def hold(self, connection: socket.socket, frame: bytes) -> bytes:
        while 0 < self.piece < len(frame):
            time.sleep(self.seconds)
            connection.sendall(frame[: self.piece])
            frame = frame[self.piece :]
        time.sleep(self.seconds)
        return frame


@dataclass(frozen=True)
class Late(Fault):
    """Send the first `size` bytes, and the others once the client no longer waits for them.

    That is when it has closed the connection, or sent something else on it. `call` runs before the
    wait, so the answer is of a state that is over.
    """

    size: int = 0
    call: Callable[[], object] = bool

    def hold(self, connection: socket.socket, frame: bytes) -> bytes:
        size = min(self.size, len(frame) - 1)
        connection.sendall(frame[:size])
        self.call()
        select.select([connection], [], [], _PATIENCE_S)
        return frame[size:]


@dataclass(frozen=True)
class Overtaken(Fault):
    """Call something of the test between the answer and its sending, which is in time."""

    call: Callable[[], object]

    def hold(self, connection: socket.socket, frame: bytes) -> bytes:
        self.call()
        return frame


@dataclass(frozen=True)
class Silent(Fault):
    """Never answer, and keep the connection open until the client closes it."""

    def hold(self, connection: socket.socket, frame: bytes) -> bytes:
        connection.settimeout(_PATIENCE_S)
        while connection.recv(4096):
            pass
        raise CloseError


@dataclass(frozen=True)
class WrongCorrelation(Fault):
    """Answer with another correlation id."""

    by: int = 1

    def send(self, connection: socket.socket, frame: bytes) -> None:
        (given,) = struct.unpack_from(">i", frame, 4)
        connection.sendall(frame[:4] + struct.pack(">i", given + self.by) + frame[8:])


@dataclass(frozen=True)
class WrongLength(Fault):
    """Claim another size of the frame, such as -1 or 2 GiB."""

    size: int

    def send(self, connection: socket.socket, frame: bytes) -> None:
        connection.sendall(struct.pack(">i", self.size) + frame[4:])


@dataclass(frozen=True)
class Meanwhile(Fault):
    """Call something of the test between the request and its answer: an election, a deletion."""

    call: Callable[[], object]

    def before(self) -> None:
        self.call()


@dataclass(frozen=True)
class Answer(Fault):
    """Answer with other values of some fields: `Answer(error=6, leader_id=-1)`."""

    fields: dict[str, Any]

    def __init__(self, **fields: Any) -> None:
        object.__setattr__(self, "fields", fields)

    def answer(self, answer: Any) -> Any:
        return replace(answer, **self.fields)


@dataclass(frozen=True)
class CutRecords(Fault):
    """Leave out the last `size` bytes of the records: the last batch is cut."""

    size: int

    def answer(self, answer: Any) -> Any:
        assert isinstance(answer, FetchAnswer)
        return replace(answer, records=answer.records[: -self.size])


@dataclass(frozen=True)
class FlipByte(Fault):
    """Change a byte of the records or of the chunk; negative positions count from the end."""

    position: int = -1

    def answer(self, answer: Any) -> Any:
        name = "records" if isinstance(answer, FetchAnswer) else "data"
        data = bytearray(getattr(answer, name))
        if data:
            data[self.position] ^= 0x40
        return replace(answer, **{name: bytes(data)})
