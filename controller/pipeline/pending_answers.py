"""Pending answers: responses that wait until the state they are based on is committed."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from controller.results.changed_versions import ObjectVersion
from records.errors import MetadataLogError, RequestError

T = TypeVar("T")


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A response, valid once all records before `end_offset` are committed.

    Attributes:
        wrote: True if the request wrote records, False if nothing had to change.
        versions: Versions of the objects that a client's command changed, right after the command;
            the caller can expect them in its next conditional change. None: not known, because
            there are too many, or because the request is repeated.
    """

    response: T
    end_offset: int
    wrote: bool = True
    versions: tuple[ObjectVersion, ...] | None = ()


class PendingAnswer(msgspec.Struct, frozen=True):
    """A waiting answer, and the offsets of its records: [start_offset, answer.end_offset).

    `in_transaction`: the records take effect only when a transaction ends. `refusal`: the request
    is refused, and has no records.
    """

    future: asyncio.Future[Any]
    answer: Answer[Any]
    start_offset: int
    in_transaction: bool
    refusal: RequestError | None = None

    def resolve(self) -> None:
        """Set the caller's future to the answer or refusal, unless the caller cancelled it."""
        if self.future.done():
            return
        if self.refusal is None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(self.refusal)


class PendingAnswers:
    """Queue of answers in the order of their end offsets, which never decrease."""

    def __init__(self) -> None:
        self._queue: deque[PendingAnswer] = deque()

    def add(self, pending: PendingAnswer) -> None:
        """Add an answer, to be resolved once the log is committed up to its end."""
        self._queue.append(pending)

    def release(self, committed_end: int) -> None:
        """Resolve the answers whose end is committed."""
        while self._queue and self._queue[0].answer.end_offset <= committed_end:
            self._queue.popleft().resolve()

    def fail(self, error_of: Callable[[PendingAnswer], MetadataLogError]) -> None:
        """Fail all pending answers, each with its own error."""
        while self._queue:
            pending = self._queue.popleft()
            if not pending.future.done():
                pending.future.set_exception(error_of(pending))
