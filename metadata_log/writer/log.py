"""A log that assigns each batch its offsets, epoch and time, and commits it; not a mirror.

Group commit: batches that arrive while a sync runs are encoded and written together and share the
next sync. One task does all the writing, so batches commit in the order of the calls, even if
callers are cancelled.

    append --> queue --> write, write, ... --> commit --> answers
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Self

from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.limits import (
    GROUP_BATCHES_MAX,
    GROUP_SIZE_BYTES_MAX,
    MARK_SYNC_INTERVAL_MS,
    SEGMENT_SIZE_BYTES_MAX,
)
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.append_queue import AppendQueue, QueuedBatch
from metadata_log.writer.clock import Clock, MachineClocks, log_clock
from metadata_log.writer.commit import FolderCommit, GroupCommit, in_own_thread
from metadata_log.writer.owned_log import OwnedLog, announcement, own_log
from metadata_log.writer.request_batches import first_batch
from metadata_log.writer.request_window import (
    Committed,
    EarlierHash,
    KnownRequests,
    RequestWindow,
    RunBlocking,
    is_repeatable,
)
from records.envelope import Asked, Origin
from records.errors import FencedError, MetadataLogError, Outcome, RequestError, UnavailableError

_LOG = logging.getLogger(__name__)


class MetadataLog:
    """The single writer of a log that is not a mirror.

    It keeps no image, so it stores any records that can be encoded, also those that contradict the
    log. `Service` and `Controller` check records first.

    Attributes:
        cluster_id: Id of the cluster whose metadata this is.
        leader_epoch: The epoch this writer claimed.
        end_offset: First offset not yet written; exclusive, committed or not.
        clock: Source of the batches' times; decisions read the time from it, too.
    """

    def __init__(
        self,
        fs: Fs,
        directory: Path,
        owned: OwnedLog,
        clock: Clock,
        commit: GroupCommit,
        *,
        sync_mark_in_time: bool,
    ) -> None:
        self._fs = fs
        self.directory = directory
        self._writer = owned.writer
        self._lock = owned.lock
        self.clock = clock
        self._group_commit = commit
        self._run_blocking = commit.run_blocking
        self._last_timestamp = owned.writer.tail.max_timestamp or 0
        self._committed_end = owned.writer.tail.end_offset
        self._requests = KnownRequests(self.reader, commit.run_blocking)
        self._queue = AppendQueue()
        self._wake = asyncio.Event()
        self._sync_mark_in_time = sync_mark_in_time
        self._mark_timer: asyncio.TimerHandle | None = None
        self._mark_is_due = False
        self.on_sync: Callable[[float], None] = lambda took_s: None
        self.cluster_id = owned.cluster_id
        self.leader_epoch = commit.leader_epoch
        self._task = asyncio.create_task(self._run(), name="metadata log writer")
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        directory: Path | str,
        *,
        node_id: int = 0,
        clock: Clock | None = None,
        machine: MachineClocks | None = None,
        fs: Fs | None = None,
        run_blocking: RunBlocking | None = None,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
        sync_mark_in_time: bool = True,
        asked: Asked | None = None,
    ) -> Self:
        """Open a log as its writer: lock, claim a higher epoch, recover the tail, announce the
        epoch.

        Args:
            node_id: Node id announced as the leader.
            clock: Used unchanged, for simulations; None means a LogClock.
            machine: The clocks that the LogClock follows; None means this machine's.
            run_blocking: Runs blocking disk calls; by default in a thread of this writer.
            segment_size_bytes_max: A new segment begins once this size is reached.
            sync_mark_in_time: False syncs the commit mark only at the end of a segment and at
                close, so that the bytes written do not depend on the machine's speed.
            asked: The settings of the deciding controller; stored with the announcement.

        Raises:
            MetadataLogError: see `own_log`; the outcome is always NOTHING.
        """
        fs, directory = fs or OsFs(), Path(directory).absolute()
        try:
            owned = own_log(fs, directory, segment_size_bytes_max)
        except FencedError as error:
            raise error.with_outcome(Outcome.NOTHING) from error
        log = cls(
            fs,
            directory,
            owned,
            clock or log_clock(directory, owned.writer.tail, machine),
            FolderCommit(owned.writer, owned.claim.leader_epoch, run_blocking or in_own_thread()),
            sync_mark_in_time=sync_mark_in_time,
        )
        return await log._announced(node_id, asked)

    @classmethod
    async def lead(
        cls,
        directory: Path,
        owned: OwnedLog,
        commit: GroupCommit,
        *,
        requests: RequestWindow,
        node_id: int,
        machine: MachineClocks | None = None,
        fs: Fs | None = None,
        asked: Asked | None = None,
    ) -> Self:
        """Write as the leader of a shared log; the folder has everything before the leader's claim.

        Nothing is accepted before the epoch's own batch is committed. `requests` is the request
        window at the folder's end. Other arguments as for `open`.

        Raises:
            MetadataLogError: the announcement could not be committed.
        """
        clock = log_clock(directory, owned.writer.tail, machine)
        log = cls(fs or OsFs(), directory, owned, clock, commit, sync_mark_in_time=True)
        log._requests.take_over(requests)
        return await log._announced(node_id, asked)

    async def _announced(self, node_id: int, asked: Asked | None) -> Self:
        """Append the first batch of this writer; close the log if that fails."""
        try:
            await self.append(announcement(node_id, asked))
        except FencedError as error:
            await self.close()
            # The announcement's outcome may be unknown, but no caller has appended anything yet.
            raise (self._queue.failure or error).with_outcome(Outcome.NOTHING) from error
        except BaseException:
            await self.close()
            raise
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive."""
        return self._writer.tail.end_offset

    def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> asyncio.Future[AppendResult]:
        """Queue a batch, and return the future of its commit; batches commit in the order of calls.

        All of the batch is committed, or nothing. The future is done once the bytes are on stable
        storage. After cancellation the outcome is unknown. A batch whose origin has a request id is
        committed once: if it is repeated within REQUEST_WINDOW_OFFSETS, the result is that of the
        first append. Without a request hash in the origin, the records themselves are compared.

        Raises:
            RequestError: the batch is empty, too large or cannot be encoded; it has a record that
                only an import writes; its request id was used for another request; or the log does
                not end at `expected_end_offset` when it is this batch's turn. Nothing was written.
            UnavailableError: too many batches wait, the disk is full, or the log is closed; nothing
                was written.
            FencedError: another writer took over, or a write failed; this writer cannot be used any
                more. The outcome is unknown for batches in flight, and NOTHING for the others.
            CorruptLogError: the end of the log, searched for repeated requests, is damaged; nothing
                was written, and this writer cannot be used any more.
        """
        answer = self._queue.add(batch, expected_end_offset)
        self._wake.set()
        return answer

    def reader(self) -> LogReader:
        """Open a reader of the committed part of the log (a blocking call).

        Raises:
            CorruptLogError: the log is damaged in a part that is read on opening.
        """
        return LogReader.open(self.directory, fs=self._fs)

    def first_batch(self, committed: Committed) -> Batch:
        """Return the first batch of a request that `find_request` found (a blocking call).

        Raises:
            UnknownHistoryError: the log no longer has the batch.
            CorruptLogError: the batch is damaged.
        """
        return first_batch(self._fs, self.directory, committed)

    async def find_request(
        self, origin: Origin, earlier_hash: EarlierHash | None = None
    ) -> Committed | None:
        """Return where a request was committed; None if it is new or still in flight.

        For callers that decide before they append: a repeated request must not be decided again.

        Args:
            earlier_hash: As in `RequestWindow.find`.

        Raises:
            RequestError: the id was used for another request.
        """
        await self._requests.load()
        found = self._requests.window.find(origin, earlier_hash)
        is_committed = found is not None and found.result.end_offset <= self._committed_end
        return found if is_committed else None

    async def close(self) -> None:
        """Commit the accepted batches and release the log; after a failed write, only release it.

        The close runs once and completely, even if the caller is cancelled or calls this again.
        """
        if self._ending is None:
            self._queue.is_closed = True
            self._wake.set()
            self._ending = asyncio.create_task(self._close(), name="metadata log ending")
        await asyncio.shield(self._ending)

    async def _close(self) -> None:
        try:
            await self._task
            if self._mark_timer is not None:
                self._mark_timer.cancel()
            await self._run_blocking(self._end)
        finally:
            self._lock.release()

    def _end(self) -> None:
        if self._queue.failure is not None:
            self._writer.abandon()
        else:
            self._writer.close()

    async def _run(self) -> None:
        try:
            while self._queue.has_waiting or not self._queue.is_closed:
                await self._wake.wait()
                self._wake.clear()
                # Between two groups, because under load the next one always follows.
                while self._queue.has_waiting or self._mark_is_due:
                    if self._mark_is_due:
                        self._mark_is_due = False
                        await self._run_blocking(self._writer.sync_mark)
                    if self._queue.has_waiting:
                        await self._commit_group()
        except MetadataLogError as error:
            self._queue.fail(error)
        except OSError as error:
            # It is unknown what reached the disk. A second sync may succeed and prove nothing.
            text = f"writing {self.directory} failed: {error}; open the log again"
            self._queue.fail(FencedError(text))
        except Exception as error:
            _LOG.exception("%s: the writer ended by a mistake of its own", self.directory)
            self._queue.fail(FencedError(f"the writer failed: {error!r}; open the log again"))

    async def _commit_group(self) -> None:
        """Write a group of the waiting batches, sync them together, and answer their callers."""
        group = self._queue.in_flight
        results: list[tuple[QueuedBatch, AppendResult]] = []
        try:
            if self._needs_segment:
                await self._group_commit.start_segment()
            await self._queue.wait_for_callers(self._wake, self._group_commit.patience_s)
            # After every other await, so that requests that arrived meanwhile are included.
            if not self._requests.is_loaded and any(
                is_repeatable(batch.origin) for batch in self._queue.waiting()
            ):
                await self._requests.load()
            self._encode_group(results)
            if self._writer.group_size_bytes:
                is_alone = len(group) == 1 and not self._queue.has_waiting
                self.on_sync(await self._group_commit.commit(is_alone=is_alone))
        except UnavailableError as error:
            self._undo(results, error)
        except FencedError as error:
            if error.outcome is Outcome.NOTHING:
                self._undo(results, error)
            raise
        else:
            self._committed_end = self.end_offset
            self._requests.window.drop_before(self._committed_end)
            self._answer(results)
            self._queue.answered()
            if self._sync_mark_in_time and not self._queue.is_closed:
                self._start_mark_timer()

    def _undo(self, results: list[tuple[QueuedBatch, AppendResult]], error: Exception) -> None:
        """Refuse a group of batches that was rolled back and will never be in the log."""
        group = self._queue.in_flight
        self._requests.window.drop_from(self.end_offset)
        self._answer(results)
        for queued in group:
            queued.refuse(error)
        if not group:
            # There is no segment to write to, so no waiting batch can be written.
            self._queue.refuse_waiting(error)
        group.clear()

    @property
    def _needs_segment(self) -> bool:
        # A node has followed an earlier leader's segment before it leads.
        is_new = self._writer.tail.leader_epoch != self.leader_epoch
        return self._writer.needs_segment or is_new

    def _answer(self, results: list[tuple[QueuedBatch, AppendResult]]) -> None:
        """Resolve what is committed; of a refused group, only repetitions of earlier requests."""
        for queued, result in results:
            if result.end_offset <= self._committed_end:
                queued.resolve(result)

    def _encode_group(self, results: list[tuple[QueuedBatch, AppendResult]]) -> None:
        """Encode as many waiting batches as may share a sync; append their results to `results`."""
        group = self._queue.in_flight
        encoded_bytes_max = self._writer.encoded_bytes + GROUP_SIZE_BYTES_MAX
        while (
            self._queue.has_waiting
            and not self._writer.needs_segment
            and len(group) < GROUP_BATCHES_MAX
            and self._writer.encoded_bytes < encoded_bytes_max
        ):
            queued = self._queue.take_next()  # now it is one of `group`
            try:
                results.append((queued, self._encode(queued)))
            except RequestError as error:
                queued.refuse(error)

    def _encode(self, queued: QueuedBatch) -> AppendResult:
        """Place and encode one batch for the next sync, unless it repeats an earlier request."""
        batch, base = queued.batch, self.end_offset
        repeated = self._requests.window.find(batch.origin)
        if repeated is not None:
            return repeated.result
        if queued.expected_end_offset not in (None, base):
            message = f"the log ends at {base}, expected {queued.expected_end_offset}"
            raise RequestError("INVALID_UPDATE_VERSION", message)
        try:
            decided = self.clock.now_ms() if batch.timestamp is None else batch.timestamp
            timestamp = max(decided, self._last_timestamp)
            rows, rest = batch.placed(base, self.leader_epoch, timestamp)
        except (LookupError, TypeError, ValueError) as error:
            raise RequestError("INVALID_RECORD", f"the batch cannot be encoded: {error}") from error
        place = self._writer.add_block(rows, base + len(batch.records), rest, batch.records)
        self._last_timestamp = timestamp
        result = AppendResult(
            base_offset=base,
            end_offset=base + len(batch.records),
            leader_epoch=self.leader_epoch,
            timestamp=timestamp,
        )
        self._requests.window.add(batch.origin, result, place)
        return result

    def _start_mark_timer(self) -> None:
        """Start a timer, so that the commit mark is synced once per interval, not per append."""
        if self._mark_timer is None:
            loop = asyncio.get_running_loop()
            self._mark_timer = loop.call_later(MARK_SYNC_INTERVAL_MS / 1_000, self._let_mark_sync)

    def _let_mark_sync(self) -> None:
        self._mark_timer = None
        self._mark_is_due = True
        self._wake.set()
