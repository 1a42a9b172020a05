"""The pipeline from a decision's records to the committed image, with many batches in flight.

A batch is applied to the latest state when it is sent. Its state becomes the committed state when
the log confirms the batch, in order. If a batch fails, all batches after it fail, because each must
be written at a given offset. Once the log has answered for all of them, the latest state is
replaced by the committed one, and each caller gets the outcome of its own records.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec.structs import replace

from controller.pipeline.failed_batches import error_for, log_error
from controller.pipeline.latest import Latest, State
from controller.pipeline.log_port import LogPort
from controller.pipeline.sent_batches import Pending, PendingAnswer, PendingAnswers, SentBatches
from controller.results.answer import Answer
from controller.results.changed_versions import ObjectVersion
from controller.results.decided import Decided
from metadata_log.limits import PENDING_BATCHES_MAX
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import Replayer

T = TypeVar("T")

# Begin, End or Abort, and the Abort of a transaction that was left open.
_BRACKETS_MAX = 3


class Pipeline:
    """Batches in flight to one log.

    Attributes:
        committed: The state that all readers see.
        is_open: True if batches are accepted; False while a failure is handled, and permanently
            after the log is lost.
        is_lost: True if the log was lost: to another writer, or to an error that leaves its state
            unknown.
        unusable: Why the state cannot be used; None: it can, or the log was lost.

    Invariant: the committed state <= the latest one, which includes all batches in flight.
    """

    def __init__(
        self,
        log: LogPort,
        state: State,
        *,
        on_failure: Callable[[], None],
        on_commit: Callable[[Decided], None],
    ) -> None:
        """Start at the log's end.

        Args:
            state: The state at the log's end, without an open transaction.
            on_failure: Called after the latest state was replaced by the committed one.
            on_commit: Called with each batch, in order, after the committed state includes it and
                before any answer that waits for it.
        """
        self._log = log
        self._on_failure = on_failure
        self._on_commit = on_commit
        self.committed = state
        self._committed_end = log.end_offset
        self._committed_timestamp = state.image.provenance.timestamp
        self._latest = Latest(self.committed, self._committed_end)
        # The state inside an open transaction, as if its records were outside one.
        self._inside: Latest | None = None
        self._sent = SentBatches(commit=self._commit, fail=self._fail, settle=self._settle)
        # Batches of a group that the latest state includes, not in the log yet; None: no group.
        self._group: list[tuple[Decided, State]] | None = None
        # Errors of failed batches, by base offset.
        self._failed: dict[int, MetadataLogError] = {}
        self._answers = PendingAnswers()
        self.is_lost = False
        self.is_open = True
        self.unusable: Exception | None = None

    @property
    def latest(self) -> State:
        """The state including all batches in flight and an open transaction."""
        return (self._inside or self._latest).state

    @property
    def transaction(self) -> object | None:
        """A token that identifies the open transaction; None if no transaction is open."""
        return self._inside

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the log's writer."""
        return self._log.leader_epoch

    @property
    def next_offset(self) -> int:
        """Offset of the next record to be sent."""
        return self._latest.next_offset

    @property
    def room(self) -> int:
        """Number of batches the log accepts now, besides those that begin or end transactions."""
        in_flight = len(self._sent) + len(self._group or ())
        return max(PENDING_BATCHES_MAX - _BRACKETS_MAX - in_flight, 0)

    @property
    def timestamp(self) -> int:
        """Append time of the last batch, ms since 1970; later batches must not be below it."""
        return max(self._latest.timestamp, self._committed_timestamp)

    def send(self, batch: Decided) -> None:
        """Apply a batch to the latest state, and append it to the log, or to the open group."""
        assert batch.base_offset == self.next_offset, "decided for this place"
        assert batch.leader_epoch == self.leader_epoch, "decided for this epoch"
        state = self._applied(batch)
        if self._group is None:
            self._append(batch, state)
        else:
            self._group.append((batch, state))

    def send_transaction(self, batches: Sequence[Decided], state: State) -> None:
        """Send all batches of a transaction, whose effect is known.

        Args:
            batches: From the Begin to the End of the transaction.
            state: The latest state with all records of the transaction; its image's position does
                not count.
        """
        assert self._inside is None and self._group is None, "one transaction, sent at once"
        assert batches[0].base_offset == self.next_offset, "decided for this place"
        for batch in batches:
            assert batch.leader_epoch == self.leader_epoch, "decided for this epoch"
            ends = batch is batches[-1]
            self._append(batch, self._latest.move_to(batch, state if ends else None))

    @contextmanager
    def group(self) -> Iterator[None]:
        """Append the batches sent inside this context together, when it ends.

        Each is applied to the latest state at once, so all of them are decided before the first one
        reaches the log. That takes two thirds of the time of deciding and appending each batch in
        turn (benchmarks/README.md, "The socket"). Does not nest.
        """
        self._group = []
        try:
            yield
        finally:
            group, self._group = self._group, None
            for batch, state in group:
                self._append(batch, state)

    def image_after(self, batches: Iterable[Decided]) -> MetadataImage:
        """Return the latest image plus batches that are not sent yet."""
        replayer = Replayer(self.latest.image, next_offset=self.next_offset)
        for batch in batches:
            replayer.replay(batch.as_read)
        return replayer.image()

    def begin_transaction(self, name: str, *, timestamp: int, origin: Origin | None) -> None:
        """Open a transaction: batches sent from now on are invisible to readers until it ends."""
        assert self._inside is None, "transactions do not nest"
        state = self._latest.state
        begin = self._marker(BeginTransactionRecord(name=name), timestamp, origin)
        self.send(begin)
        self._inside = Latest(state, begin.end_offset)

    def end_transaction(
        self, end: EndTransactionRecord | AbortTransactionRecord, *, timestamp: int
    ) -> Decided:
        """End or abort the open transaction; return the batch of the marker."""
        assert self._inside is not None, "there is a transaction to end"
        self._inside = None
        batch = self._marker(end, timestamp)
        self.send(batch)
        return batch

    def abort_left_open(self, reason: str, now_ms: Callable[[], int]) -> None:
        """Abort a transaction left open by the previous writer, or by this one before it failed.

        Unless aborted, it would include all later batches.

        Args:
            now_ms: Returns the time of the abort, if there is one: ms since 1970, not below the
                last batch's.
        """
        pending = self._latest.state.image.provenance.pending_transaction
        if self._inside is not None or pending is None:
            return
        batch = self._marker(AbortTransactionRecord(reason=reason), now_ms())
        before = self._latest.state.image
        provenance = Provenance(
            offset=batch.base_offset,
            leader_epoch=batch.leader_epoch,
            timestamp=batch.timestamp,
            not_understood=before.provenance.not_understood,
        )
        image = replace(before, provenance=provenance)
        state = State(image, self._latest.state.lazy_index)
        self._latest = Latest(state, batch.end_offset)
        self._append(batch, state)

    def answer_when_committed(
        self,
        future: asyncio.Future[Answer[T]],
        response: T,
        *,
        start_offset: int,
        is_transaction: bool = False,
        versions: tuple[ObjectVersion, ...] | None = (),
    ) -> None:
        """Answer once everything sent so far is committed.

        Args:
            start_offset: Offset of the answer's first record; the next offset if it has none.
            is_transaction: The records form a transaction, so they take effect only when its last
                record is committed.
            versions: Versions of the objects that the records changed.
        """
        wrote = start_offset < self.next_offset
        answer = Answer(response, self.next_offset, wrote=wrote, versions=versions)
        in_transaction = self._inside is not None or is_transaction
        self._answers.add(PendingAnswer(future, answer, start_offset, in_transaction))
        self._answers.release(self._committed_end)

    def refuse_when_committed(self, future: asyncio.Future[Any], refusal: RequestError) -> None:
        """Refuse a request once everything sent so far is committed.

        The refusal is based on the latest state, which a failed append may undo.
        """
        answer = Answer(None, self.next_offset, wrote=False)
        pending = PendingAnswer(future, answer, self.next_offset, False, refusal)
        self._answers.add(pending)
        self._answers.release(self._committed_end)

    async def drained(self) -> None:
        """Wait until no batch is in flight."""
        await self._sent.drained()

    def _marker(
        self,
        record: BeginTransactionRecord | EndTransactionRecord | AbortTransactionRecord,
        timestamp: int,
        origin: Origin | None = None,
    ) -> Decided:
        return Decided(
            base_offset=self.next_offset,
            leader_epoch=self.leader_epoch,
            timestamp=timestamp,
            records=(record,),
            versions=[0],
            origin=origin,
        )

    def _applied(self, batch: Decided) -> State:
        """Apply a batch to the latest state; return that state without an open transaction."""
        try:
            if self._inside is not None:
                self._inside.advance(batch)
            return self._latest.advance(batch)
        except Exception as error:
            self.give_up(None)
            raise AssertionError(f"a decision contradicts the image it read: {error!r}") from error

    def _append(self, batch: Decided, state: State) -> None:
        append = self._log.append(batch.new_batch, expected_end_offset=batch.base_offset)
        self._sent.add(Pending(batch, state, asyncio.ensure_future(append)))

    def _commit(self, sent: Pending) -> None:
        self.committed = sent.state
        self._committed_end = sent.batch.end_offset
        self._committed_timestamp = sent.logged.result().timestamp
        self._on_commit(sent.batch)
        self._answers.release(self._committed_end)

    def _fail(self, sent: Pending, error: BaseException) -> None:
        self._failed[sent.batch.base_offset] = log_error(error)
        self.is_lost = self.is_lost or not _may_recover(error)
        self.is_open = False

    def give_up(self, unusable: Exception | None) -> None:
        """Accept no more batches, because the latest state cannot be used."""
        self.is_open, self.is_lost, self.unusable = False, True, unusable
        if not self._sent:
            self._settle()

    def _settle(self) -> None:
        """Continue from the committed state, if a batch has failed.

        If the log does not end at the committed state's end, the log is lost.
        """
        if self.is_open:
            return
        failed, self._failed = self._failed, {}
        if failed:
            self._answers.fail(lambda pending: error_for(pending, failed, self._committed_end))
        self._latest = Latest(self.committed, self._committed_end)
        self._inside = None
        self._on_failure()
        self.is_lost = self.is_lost or self._log.end_offset != self._committed_end
        self.is_open = not self.is_lost


def _may_recover(error: BaseException) -> bool:
    """True if the same writer may continue after this error."""
    return isinstance(error, RequestError | UnavailableError) and error.outcome is Outcome.NOTHING
