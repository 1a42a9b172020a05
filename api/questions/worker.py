"""Worker process for a service's questions about the past; run as `-m api.questions.worker`.

The worker reads requests from standard input and writes pages to standard output, each preceded by
its length, until the input ends. Every second it writes an empty message as a heartbeat.
"""

import os
import signal
import struct
import sys
import threading
import time
from typing import BinaryIO

import msgspec

from api.garbage import collect_seldom
from api.questions.pages import Cursor, Page, PagedLog
from records.errors import (
    ContradictionError,
    CorruptLogError,
    MetadataLogError,
    RequestError,
    UnavailableError,
)

LENGTH = struct.Struct("!I")
"""Length prefix of each message."""

LIVE, COPY = "live", "copy"
"""State of the log: served by its writer, or a copy that is known only up to its last record."""

ALIVE_EVERY_S = 1.0
"""Interval of the heartbeats that the process writes."""


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page of an answer: the arguments of `PagedLog.page`."""

    question: str
    payload: bytes
    at: str
    cursor: Cursor | None = None
    limit: int | None = None
    sql_history: str | None = None
    by_name: bool = False


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A page or an error."""

    page: Page | None = None
    error: "Failure | None" = None


class Failure(msgspec.Struct, frozen=True):
    """An error in serialized form; `code` is set for a RequestError."""

    message: str
    code: str | None = None
    kind: str = UnavailableError.__name__

    @classmethod
    def of(cls, error: MetadataLogError) -> "Failure":
        """Return the serialized form of an error."""
        code = error.code if isinstance(error, RequestError) else None
        kinds = [kind for kind in _KINDS.values() if isinstance(error, kind)]
        return cls(str(error), code, (kinds or [UnavailableError])[0].__name__)

    def error(self) -> MetadataLogError:
        """Return the original error."""
        if self.code is not None:
            return RequestError(self.code, self.message)
        return _KINDS[self.kind](self.message)


_KINDS: dict[str, type[MetadataLogError]] = {
    kind.__name__: kind for kind in (CorruptLogError, ContradictionError, UnavailableError)
}


def main(place: str, state: str = LIVE) -> None:
    """Answer requests about the log at `place` until the input ends; `state` is LIVE or COPY."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends this process itself
    replies = _Replies(sys.stdout.buffer)
    threading.Thread(target=replies.say_alive, daemon=True).start()
    log = PagedLog(place, is_live=state == LIVE)
    collect_seldom()
    while (request := _read(sys.stdin.buffer)) is not None:
        replies.write(msgspec.msgpack.encode(_reply(log, request)))


class _Replies:
    """Writes messages to the service; thread-safe."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, message: bytes) -> None:
        with self._lock:
            self._stream.write(LENGTH.pack(len(message)) + message)
            self._stream.flush()

    def say_alive(self) -> None:
        """Write an empty message every second; exit the process once the service is gone."""
        while True:
            try:
                self.write(b"")
            except OSError:
                os._exit(0)
            time.sleep(ALIVE_EVERY_S)


def _read(stream: BinaryIO) -> PageRequest | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    return msgspec.msgpack.decode(stream.read(size), type=PageRequest)


def _reply(log: PagedLog, request: PageRequest) -> Reply:
    try:
        page = log.page(
            *(request.question, request.payload, request.at, request.cursor),
            limit=request.limit,
            sql_history=request.sql_history,
            by_name=request.by_name,
        )
        return Reply(page=page)
    except MetadataLogError as error:
        return Reply(error=Failure.of(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
