r"""The append queue of a log that is not a mirror: waiting batches, batches in flight, refusals.

append --> waiting --> in flight --> answered
     \-> refused           \-> refused, outcome unknown

Callers who were just answered mostly ask again. Where a commit takes long, the next one waits a
little for them: otherwise callers would take turns in two groups, each waiting for two commits.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator

import msgspec

from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.limits import BATCH_RECORDS_MAX, GROUP_BATCHES_MAX, PENDING_BATCHES_MAX
from records.control import NoOpRunRecord
from records.envelope import Origin
from records.errors import (
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
)


class QueuedBatch(msgspec.Struct, frozen=True):
    """A batch to append, and the future that its caller awaits."""

    batch: NewBatch
    expected_end_offset: int | None
    answer: asyncio.Future[AppendResult]

    def resolve(self, result: AppendResult) -> None:
        """Complete the caller's future with the result, unless the future is done or cancelled."""
        if not self.answer.done():
            self.answer.set_result(result)

    def refuse(self, error: Exception) -> None:
        """Fail the caller's future with `error`, unless the future is done or cancelled."""
        if not self.answer.done():
            self.answer.set_exception(error)


class AppendQueue:
    """Accepted batches without an outcome yet, in the order in which they were added.

    Attributes:
        in_flight: Batches handed to the writer. If the writer fails, their bytes may be on disk,
            while waiting batches never left this process.
        failure: The error that ended the writer; None while the writer runs. Set once, by `fail`.
        is_closed: True if no more batches are accepted.
    """

    def __init__(self) -> None:
        self._waiting: deque[QueuedBatch] = deque()
        self.in_flight: list[QueuedBatch] = []
        self.failure: MetadataLogError | None = None
        self.is_closed = False
        # Who waits for an answer, or had one with the last group.
        self._callers = 0

    @property
    def has_waiting(self) -> bool:
        """True if a batch waits for the writer."""
        return bool(self._waiting)

    def waiting(self) -> Iterator[NewBatch]:
        """Yield the waiting batches, oldest first."""
        return (queued.batch for queued in self._waiting)

    def add(self, batch: NewBatch, expected_end_offset: int | None) -> asyncio.Future[AppendResult]:
        """Queue a batch for the writer, and return the future of its result.

        A batch that is refused is not queued; the returned future already has the error.
        """
        batch = batch.identified()
        answer: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        refusal = _refusal_of_content(batch) or self._refusal_of_state()
        if refusal is not None:
            answer.set_exception(refusal)
        else:
            self._waiting.append(QueuedBatch(batch, expected_end_offset, answer))
        return answer

    def take_next(self) -> QueuedBatch:
        """Move the oldest waiting batch to `in_flight`, and return it."""
        queued = self._waiting.popleft()
        self.in_flight.append(queued)
        return queued

    def answered(self) -> None:
        """Forget the batches in flight: their callers were answered."""
        self._callers = min(len(self.in_flight) + len(self._waiting), GROUP_BATCHES_MAX)
        self.in_flight.clear()

    async def wait_for_callers(self, wake: asyncio.Event, timeout_s: float) -> None:
        """Wait until the callers of the last group wait again, at most for a time.

        Args:
            wake: Set after each change of the queue.
            timeout_s: 0: do not wait.
        """
        if timeout_s <= 0:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while len(self._waiting) < self._callers and not self.is_closed:
                    wake.clear()
                    await wake.wait()

    def refuse_waiting(self, error: Exception) -> None:
        """Refuse all waiting batches."""
        waiting = list(self._waiting)
        self._waiting.clear()
        for queued in waiting:
            queued.refuse(error)

    def fail(self, failure: MetadataLogError) -> None:
        """Refuse all batches, now and later, because the writer has failed.

        The outcome of batches in flight is unknown; of all others nothing was written.
        """
        self.failure = failure
        for queued in self.in_flight:
            queued.refuse(_maybe_written(failure))
        self.refuse_waiting(_never_written(failure))

    def _refusal_of_state(self) -> MetadataLogError | None:
        """Return the error for a batch that is added now; None if the queue accepts batches."""
        if self.failure is not None:
            return FencedError(
                f"{self.failure}; nothing of the batch was written", outcome=Outcome.NOTHING
            )
        if self.is_closed:
            return UnavailableError("the log was closed; open it again")
        if len(self._waiting) >= PENDING_BATCHES_MAX:
            return UnavailableError("the log is overloaded; try again")
        return None


def _refusal_of_content(batch: NewBatch) -> RequestError | None:
    """Return the error for a batch that can never be accepted, as far as known before encoding.

    Returns None if no reason for a refusal was found.
    """
    if not 0 < len(batch.records) <= BATCH_RECORDS_MAX:
        return RequestError(
            "POLICY_VIOLATION",
            f"the batch has {len(batch.records)} records; 1 to {BATCH_RECORDS_MAX} are allowed",
        )
    if not _has_usable_request_id(batch.origin):
        return RequestError("INVALID_RECORD", f"the batch's origin is not valid: {batch.origin!r}")
    if NoOpRunRecord in map(type, batch.records):
        return RequestError(
            "INVALID_RECORD", "only an import may write a NoOpRunRecord; append NoOpRecords"
        )
    return None


def _has_usable_request_id(origin: object) -> bool:
    """True if the origin has a request id of the right type, or none at all.

    Encoding checks the other fields of the origin.
    """
    if isinstance(origin, Origin):
        return origin.request_id is None or isinstance(origin.request_id, str)
    return origin is None


def _maybe_written(failure: MetadataLogError) -> MetadataLogError:
    message = f"{failure}; the outcome is unknown: the batch may have been committed or not"
    return failure.with_outcome(Outcome.UNKNOWN, message)


def _never_written(failure: MetadataLogError) -> MetadataLogError:
    if failure.outcome is Outcome.NOTHING:
        return failure
    return failure.with_outcome(Outcome.NOTHING, f"{failure}; nothing of the batch was written")
