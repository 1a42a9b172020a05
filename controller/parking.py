"""Answers that wait until what they speak of is committed."""

import asyncio
from collections import deque
from typing import Any, Generic, TypeVar

import msgspec

from records.errors import RequestError

T = TypeVar("T")


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A response, valid once everything below `end_offset` is committed (exclusive).

    `wrote`: whether what was asked for left records, or everything was as it should be.
    """

    response: T
    end_offset: int
    wrote: bool = True


class Parking:
    """Answers in the order of their end offsets, which never go down."""

    def __init__(self) -> None:
        self._parked: deque[tuple[asyncio.Future[Any], Answer[Any]]] = deque()

    def park(self, future: asyncio.Future[Answer[T]], answer: Answer[T]) -> None:
        """Answer `future` once the log is committed up to the answer's end."""
        self._parked.append((future, answer))

    def release(self, committed_end: int) -> None:
        """Give the answers that no longer wait for anything."""
        while self._parked and self._parked[0][1].end_offset <= committed_end:
            future, answer = self._parked.popleft()
            if not future.done():
                future.set_result(answer)

    def refuse(self, end_offset: int, error: RequestError) -> None:
        """Give the error to the answer whose records were to end at that offset.

        Answers behind it that wait for the same offset have no records of their own.
        """
        for index, (future, answer) in enumerate(self._parked):
            if answer.end_offset == end_offset:
                del self._parked[index]
                if not future.done():
                    future.set_exception(error)
                return

    def fail(self, error: RequestError) -> None:
        """Give all that wait an error."""
        while self._parked:
            future, _ = self._parked.popleft()
            if not future.done():
                future.set_exception(error)
