"""Answers that wait until what they speak of is committed."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from records.errors import MetadataLogError

T = TypeVar("T")


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A response, valid once everything below `end_offset` is committed (exclusive).

    `wrote`: whether what was asked for left records, or everything was as it should be.
    """

    response: T
    end_offset: int
    wrote: bool = True


class Parked(msgspec.Struct, frozen=True):
    """An answer that waits, and the records of its own: [start_offset, answer.end_offset).

    `in_transaction`: the records only take effect when a transaction ends.
    """

    future: asyncio.Future[Any]
    answer: Answer[Any]
    start_offset: int
    in_transaction: bool


class Parking:
    """Answers in the order of their end offsets, which never go down."""

    def __init__(self) -> None:
        self._parked: deque[Parked] = deque()

    def park(self, parked: Parked) -> None:
        """Answer once the log is committed up to the answer's end."""
        self._parked.append(parked)

    def release(self, committed_end: int) -> None:
        """Give the answers that no longer wait for anything."""
        while self._parked and self._parked[0].answer.end_offset <= committed_end:
            parked = self._parked.popleft()
            if not parked.future.done():
                parked.future.set_result(parked.answer)

    def fail(self, error_of: Callable[[Parked], MetadataLogError]) -> None:
        """Give all that wait an error, each its own."""
        while self._parked:
            parked = self._parked.popleft()
            if not parked.future.done():
                parked.future.set_exception(error_of(parked))
