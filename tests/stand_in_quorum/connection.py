"""One connection to a node: reads requests, has them answered, notes what a guest must not do."""

import select
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from tests.stand_in_quorum.faults import CloseError, Fault
from tests.stand_in_quorum.frames import Header, read_request
from tests.stand_in_quorum.wire import MalformedError, Reader

FRAME_SIZE_MAX = 1024 * 1024


class Encodes(Protocol):
    """An answer that is encoded for the version of a request."""

    def encode(self, header: Header) -> bytes: ...


@dataclass(frozen=True)
class Raw:
    """An answer that is encoded already."""

    message: bytes

    def encode(self, header: Header) -> bytes:
        return self.message


@dataclass(frozen=True)
class Exchange:
    """The answer to a request, and the fault that a test ordered for it."""

    answer: Encodes
    fault: Fault


Answers = Callable[[Header, Reader], AbstractContextManager[Exchange]]
"""Answers a request, which is in flight while the context lasts."""


def _receive(connection: socket.socket, size: int) -> bytes:
    """Return exactly `size` bytes; empty if the client closed before the first."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            if data:
                raise CloseError
            return b""
        data += more
    return data


def has_left(connection: socket.socket) -> bool:
    """True if the client closed the connection; over TLS also if it sent anything."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        if not readable or isinstance(connection, ssl.SSLSocket):
            return bool(readable)
        return not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def _has_more(connection: socket.socket) -> bool:
    """True if the client sent something although its request is not answered yet."""
    if isinstance(connection, ssl.SSLSocket) and connection.pending():
        return True
    readable, _, _ = select.select([connection], [], [], 0)
    if not readable or isinstance(connection, ssl.SSLSocket):
        return False
    return bool(connection.recv(1, socket.MSG_PEEK))


def serve(connection: socket.socket, answers: Answers, note: Callable[[str], None]) -> None:
    """Answer until either side closes; `note` gets each breach of the protocol."""
    while True:
        size = _receive(connection, 4)
        if not size:
            return
        (length,) = struct.unpack(">i", size)
        if not 0 < length <= FRAME_SIZE_MAX:
            note(f"a request of {length} bytes")
            return
        frame = _receive(connection, length)
        if len(frame) < length:
            raise CloseError
        try:
            header, reader = read_request(frame)
            with answers(header, reader) as exchange:
                fault = exchange.fault
                message = fault.answer(exchange.answer).encode(header)
                left = fault.hold(connection, header.answer(message))
        except MalformedError as error:
            note(f"malformed request {frame[:4].hex()}: {error}")
            return
        if _has_more(connection):
            note("a second request before the answer to the first")
        fault.send(connection, left)
