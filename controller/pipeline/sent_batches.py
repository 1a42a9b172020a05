"""Batches that the log has not answered yet, and answers to callers that wait for them.

Batches are handled in the order in which they were sent, and answers after the batch they wait for.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from controller.pipeline.latest import State
from controller.results.answer import Answer
from controller.results.decided import Decided
from metadata_log.format.batch import AppendResult
from records.errors import MetadataLogError, RequestError


class Pending(msgspec.Struct, frozen=True):
    """A batch sent to the log, the state to commit with it, and the log's answer."""

    batch: Decided
    state: State
    logged: asyncio.Future[AppendResult]


class SentBatches:
    """Queue of the batches that the log has not answered yet."""

    def __init__(
        self,
        *,
        commit: Callable[[Pending], None],
        fail: Callable[[Pending, BaseException], None],
        settle: Callable[[], None],
    ) -> None:
        """Start with no batches.

        Args:
            commit: Called with each batch that the log committed, in order.
            fail: Called with each batch that the log did not commit, in order, and the error.
            settle: Called when the log has answered for all batches.
        """
        self._commit, self._fail, self._settle = commit, fail, settle
        self._queue: deque[Pending] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, sent: Pending) -> None:
        """Add the batch that follows the one added last."""
        self._queue.append(sent)
        if len(self._queue) == 1:
            self._await_first()

    async def drained(self) -> None:
        """Wait until the log has answered for all batches."""
        while self._queue:
            await asyncio.wait([sent.logged for sent in self._queue])
            await asyncio.sleep(0)  # lets the callbacks of the appends run

    def _await_first(self) -> None:
        # Only the first one: a group of appends that share a sync is done at once, so it is
        # handled in one callback.
        self._queue[0].logged.add_done_callback(self._on_answer)

    def _on_answer(self, _: asyncio.Future[Any]) -> None:
        """Handle the outcomes up to the first batch that the log has not answered."""
        queue = self._queue
        while queue and queue[0].logged.done():
            sent = queue.popleft()
            error = _error_of(sent)
            if error is None:
                self._commit(sent)
            else:
                self._fail(sent, error)
        if queue:
            self._await_first()
        else:
            self._settle()


def _error_of(sent: Pending) -> BaseException | None:
    if sent.logged.cancelled():
        return asyncio.CancelledError()
    error = sent.logged.exception()
    if error is None and sent.logged.result().end_offset != sent.batch.end_offset:
        # The log recognised the request's id, and returned its first result instead of writing.
        written = sent.logged.result()
        return RequestError(
            "DUPLICATE_REQUEST",
            f"the request was committed before, at offset {written.base_offset}",
        )
    return error


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
        """Add an answer, to be resolved once the log is committed up to the answer's end offset."""
        self._queue.append(pending)

    def release(self, committed_end: int) -> None:
        """Resolve the answers whose end offset is committed."""
        while self._queue and self._queue[0].answer.end_offset <= committed_end:
            self._queue.popleft().resolve()

    def fail(self, error_of: Callable[[PendingAnswer], MetadataLogError]) -> None:
        """Fail all pending answers, each with its own error."""
        while self._queue:
            pending = self._queue.popleft()
            if not pending.future.done():
                pending.future.set_exception(error_of(pending))
