"""Failures that a test orders: what goes wrong with the next answers, and how.

A fault is an object with some of three hooks; what it does not name stays as it is.
"""

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.stand_in_quorum.fetch import FetchAnswer


class CloseError(OSError):
    """The connection is to be closed now."""


class Fault:
    """Nothing goes wrong; the others change one of its hooks."""

    def before(self) -> None:
        """Run when the request was read and before it is answered."""

    def answer(self, answer: Any) -> Any:
        """Return what is encoded instead of `answer` (a FetchAnswer, a FetchSnapshotAnswer)."""
        return answer

    def send(self, connection: socket.socket, frame: bytes) -> None:
        """Send the whole frame: length, header, message."""
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

    def send(self, connection: socket.socket, frame: bytes) -> None:
        size = self.piece or len(frame)
        for position in range(0, len(frame), size):
            time.sleep(self.seconds)
            connection.sendall(frame[position : position + size])


@dataclass(frozen=True)
class Silent(Fault):
    """Never answer, and keep the connection open until the client closes it."""

    def send(self, connection: socket.socket, frame: bytes) -> None:
        connection.settimeout(60)
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
