"""The own log: it gives every batch its offsets, epoch and time, and commits it.

Group commit: batches that arrive while a sync runs are encoded and written together and share the
next one. One task does all of the writing, so that batches commit in the order of the calls,
whatever becomes of the callers.

    append --> pending --> write, write, ... --> sync --> check the claim --> mark --> answers
"""

import asyncio
import logging
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch
from metadata_log.clock import Clock, MachineClocks
from metadata_log.fs import Fs, OsFs
from metadata_log.limits import (
    BATCH_RECORDS_MAX,
    GROUP_BATCHES_MAX,
    GROUP_SIZE_BYTES_MAX,
    MARK_SYNC_INTERVAL_MS,
    PENDING_BATCHES_MAX,
    QUICK_SYNC_S_MAX,
    QUICK_SYNCS_MIN,
    REQUEST_WINDOW_OFFSETS,
    SEGMENT_SIZE_BYTES_MAX,
)
from metadata_log.log_clock import LogClock
from metadata_log.log_reader import LogReader
from metadata_log.opening import OwnedLog, own_log
from metadata_log.own_thread import RunBlocking, in_own_thread
from metadata_log.request_window import RequestWindow, takes_part
from records.control import LeaderChangeMessage, LeaderChangeVoter, NoOpRunRecord
from records.envelope import Envelope, Origin
from records.errors import (
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
)
from records.registry import newest_version

_LOG = logging.getLogger(__name__)


class _Pending(msgspec.Struct, frozen=True):
    batch: NewBatch
    expected_end_offset: int | None
    answer: asyncio.Future[AppendResult]

    def refuse(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class MetadataLog:
    """The one writer of an own log.

    Attributes:
        cluster_id: Id of the cluster whose metadata this is.
        leader_epoch: The epoch this writer claimed.
        end_offset: First offset not yet written; exclusive, committed or not.
        clock: Gives batches their times; whoever decides what is written reads the time here.
    """

    def __init__(
        self,
        fs: Fs,
        directory: Path,
        owned: OwnedLog,
        clock: Clock,
        run_blocking: RunBlocking,
        *,
        sync_mark_in_time: bool,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._writer = owned.writer
        self._claim = owned.claim
        self._lock = owned.lock
        self.clock = clock
        self._run_blocking = run_blocking
        self._last_timestamp = owned.writer.tail.max_timestamp or 0
        self._committed_end = owned.writer.tail.end_offset
        self._requests = RequestWindow()
        self._requests_lock = asyncio.Lock()
        self._pending: deque[_Pending] = deque()
        # Batches that were handed to the writer and not answered yet. When it fails, their bytes
        # may stand; those of the pending ones never left this process.
        self._writing: list[_Pending] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._failure: MetadataLogError | None = None
        self._sync_mark_in_time = sync_mark_in_time
        self._mark_timer: asyncio.TimerHandle | None = None
        self._mark_is_due = False
        self._quick_syncs = 0
        self.cluster_id = owned.cluster_id
        self.leader_epoch = owned.claim.leader_epoch
        self._task = asyncio.create_task(self._run(), name="metadata log writer")
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        node_id: int = 0,
        clock: Clock | None = None,
        machine: MachineClocks | None = None,
        fs: Fs | None = None,
        run_blocking: RunBlocking | None = None,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
        sync_mark_in_time: bool = True,
    ) -> Self:
        """Become the writer: lock, claim a higher epoch, recover the tail, announce the epoch.

        Args:
            node_id: Who is announced as the leader.
            clock: Taken as it is, for simulations; None is a LogClock.
            machine: What that one follows; None is this machine.
            run_blocking: How to wait for the disk; a thread of its own, unless it is simulated.
            segment_size_bytes_max: A segment that has reached this is the last but one.
            sync_mark_in_time: False syncs the commit mark at a roll and at close only, so that no
                byte depends on how fast the machine is.

        Raises:
            MetadataLogError: see `own_log`; the outcome is always nothing.
        """
        fs, directory = fs or OsFs(), directory.absolute()
        try:
            owned = own_log(fs, directory, segment_size_bytes_max)
        except FencedError as error:
            raise error.with_outcome(Outcome.NOTHING) from error
        last_timestamp = owned.writer.tail.max_timestamp or 0
        clock = clock or LogClock(last_timestamp, name=str(directory), machine=machine)
        runs = run_blocking or in_own_thread()
        log = cls(fs, directory, owned, clock, runs, sync_mark_in_time=sync_mark_in_time)
        voter = (LeaderChangeVoter(voter_id=node_id),)
        announcement = LeaderChangeMessage(
            version=0, leader_id=node_id, voters=voter, granting_voters=voter
        )
        try:
            await log.append(NewBatch(records=(announcement,), record_versions=(0,)))
        except FencedError as error:
            await log.close()
            # Of the announcement nobody knows, but no caller has appended anything yet.
            raise (log._failure or error).with_outcome(Outcome.NOTHING) from error
        except BaseException:
            await log.close()
            raise
        return log

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive."""
        return self._writer.tail.end_offset

    def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> asyncio.Future[AppendResult]:
        """Commit a batch: all of it or nothing, in the order of the calls.

        The future is done once the bytes are on stable storage. Who cancels it does not know
        whether its batch was committed. A batch whose origin has a request id and a request hash
        is committed once: repeated within REQUEST_WINDOW_OFFSETS it gets the first answer again.

        Raises:
            RequestError: the batch is empty, too large or cannot be encoded, holds a record that
                only an import writes, its request id was used for another request, or the log does
                not end at `expected_end_offset` when it is this batch's turn; nothing was written.
            UnavailableError: too many batches wait, the disk is full, or the log is closed;
                nothing was written.
            FencedError: another writer took over, or a write failed; this writer is of no more use.
                The outcome is unknown for a batch that was being written, nothing for the others.
            CorruptLogError: what was committed last, and tells repeated requests, is damaged;
                nothing was written, and this writer is of no more use.
        """
        answer: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        refusal = self._refusal(batch)
        if refusal is not None:
            answer.set_exception(refusal)
        else:
            self._pending.append(_Pending(batch, expected_end_offset, answer))
            self._wake.set()
        return answer

    async def find_request(self, origin: Origin) -> AppendResult | None:
        """Return where a request was committed already; None for a new one, or one under way.

        For callers that decide anew when they are asked again, and so would append another batch.

        Raises:
            RequestError: the id was used for another request.
        """
        await self._load_requests()
        found = self._requests.find(origin)
        return found if found is not None and found.end_offset <= self._committed_end else None

    async def close(self) -> None:
        """Commit what was accepted, and give the log up; after a failed write, only that.

        It is done once, and to its end: also when the caller is cancelled, or closes again.
        """
        if self._ending is None:
            self._closing = True
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
        if self._failure is not None:
            self._writer.abandon()
            return
        try:
            self._claim.check()
        except FencedError as error:
            # All that was answered is safe; only the mark is the other writer's now.
            _LOG.warning("%s", error)
            self._writer.abandon()
        else:
            self._writer.close()

    def _refusal(self, batch: NewBatch) -> Exception | None:
        """Return why a batch is not even put among those that wait."""
        if not 0 < len(batch.records) <= BATCH_RECORDS_MAX:
            return RequestError(
                "POLICY_VIOLATION",
                f"a batch of {len(batch.records)} records; 1 to {BATCH_RECORDS_MAX} are allowed",
            )
        if not _can_be_looked_for(batch.origin):
            return RequestError("INVALID_RECORD", f"{batch.origin!r} is no origin of a batch")
        if NoOpRunRecord in map(type, batch.records):
            return RequestError(
                "INVALID_RECORD", "a NoOpRunRecord stands for what was imported; append NoOpRecords"
            )
        if self._failure is not None:
            return FencedError(
                f"{self._failure}; nothing of the batch was written", outcome=Outcome.NOTHING
            )
        if self._closing:
            return UnavailableError("the log was closed; open it again")
        if len(self._pending) >= PENDING_BATCHES_MAX:
            return UnavailableError("the log is overloaded; try again")
        return None

    async def _run(self) -> None:
        try:
            while self._pending or not self._closing:
                await self._wake.wait()
                self._wake.clear()
                # Between two groups: under load there is no end of them.
                while self._pending or self._mark_is_due:
                    if self._mark_is_due:
                        self._mark_is_due = False
                        await self._run_blocking(self._writer.sync_mark)
                    if self._pending:
                        await self._commit_group()
        except MetadataLogError as error:
            self._fail(error)
        except OSError as error:
            # What reached the disk is unknown: never try the same sync again and believe it.
            self._fail(FencedError(f"writing {self._directory} failed: {error}; open it again"))
        except Exception as error:
            _LOG.exception("%s: the writer ended by a mistake of its own", self._directory)
            self._fail(FencedError(f"the writer failed: {error!r}; open the log again"))

    async def _commit_group(self) -> None:
        """Write some of the pending batches, sync them together, and answer."""
        group = self._writing
        results: list[tuple[_Pending, AppendResult]] = []
        try:
            if self._writer.needs_segment:
                await self._run_blocking(partial(self._writer.start_segment, self.leader_epoch))
            # Last of all: a request that comes while something else is waited for is one of them.
            if not self._requests.is_loaded and any(
                takes_part(pending.batch.origin) for pending in self._pending
            ):
                await self._load_requests()
            self._write_group(group, results)
            if self._writer.group_size_bytes:
                await self._commit(alone=len(group) == 1)
        except UnavailableError as error:
            # The writer took everything back: the group is not in the log, and never will be.
            self._requests.drop_from(self.end_offset)
            self._answer(results)
            # Without a new segment there is no group yet: all that wait have to know.
            for pending in group or _drain(self._pending):
                pending.refuse(error)
        else:
            self._committed_end = self.end_offset
            self._answer(results)
            self._sync_mark_soon()
        group.clear()

    def _answer(self, results: list[tuple[_Pending, AppendResult]]) -> None:
        """Answer those that are committed, which a repeated request is whatever its group does."""
        for pending, result in results:
            if result.end_offset <= self._committed_end and not pending.answer.done():
                pending.answer.set_result(result)

    def _write_group(
        self, group: list[_Pending], results: list[tuple[_Pending, AppendResult]]
    ) -> None:
        """Move batches from the pending ones to the group, as many as may share a sync."""
        encoded_bytes_max = self._writer.encoded_bytes + GROUP_SIZE_BYTES_MAX
        while (
            self._pending
            and not self._writer.needs_segment
            and len(group) < GROUP_BATCHES_MAX
            and self._writer.encoded_bytes < encoded_bytes_max
        ):
            pending = self._pending.popleft()
            group.append(pending)
            try:
                results.append((pending, self._write(pending)))
            except RequestError as error:
                pending.refuse(error)

    def _write(self, pending: _Pending) -> AppendResult:
        """Encode and write one batch, unless it is a repeated one."""
        batch, base = pending.batch, self.end_offset
        repeated = self._requests.find(batch.origin)
        if repeated is not None:
            return repeated
        if pending.expected_end_offset not in (None, base):
            message = f"the log ends at {base}, expected {pending.expected_end_offset}"
            raise RequestError("INVALID_UPDATE_VERSION", message)
        try:
            decided = self.clock.now_ms() if batch.timestamp is None else batch.timestamp
            timestamp = max(decided, self._last_timestamp)
            rows = self._rows(batch, base, timestamp)
        except (LookupError, TypeError, ValueError) as error:
            raise RequestError(
                "INVALID_RECORD", f"what was given is no batch: {error!r}"
            ) from error
        self._writer.write(rows, base + len(batch.records))
        self._last_timestamp = timestamp
        result = AppendResult(
            base_offset=base,
            end_offset=base + len(batch.records),
            leader_epoch=self.leader_epoch,
            timestamp=timestamp,
        )
        self._requests.add(batch.origin, result)
        return result

    def _rows(self, batch: NewBatch, base: int, timestamp: int) -> list[Envelope]:
        versions = batch.record_versions or [newest_version(type(r)) for r in batch.records]
        return [
            Envelope(
                offset=base + index,
                leader_epoch=self.leader_epoch,
                timestamp=timestamp,
                batch_offset=base,
                record_version=version,
                origin=batch.origin,
                payload=record,
            )
            for index, (record, version) in enumerate(zip(batch.records, versions, strict=True))
        ]

    async def _commit(self, *, alone: bool) -> None:
        # With more to come the loop must have its turn between two groups.
        if alone and not self._pending and self._quick_syncs >= QUICK_SYNCS_MIN:
            self._sync_and_publish()
        else:
            await self._run_blocking(self._sync_and_publish)

    def _sync_and_publish(self) -> None:
        start = time.perf_counter()
        self._writer.sync()
        self._claim.check()
        is_quick = time.perf_counter() - start < QUICK_SYNC_S_MAX
        self._quick_syncs = self._quick_syncs + 1 if is_quick else 0
        self._writer.publish()

    async def _load_requests(self) -> None:
        async with self._requests_lock:
            if not self._requests.is_loaded:
                window = RequestWindow()
                await self._run_blocking(partial(self._read_requests, window))
                self._requests = window

    def _read_requests(self, window: RequestWindow) -> None:
        with LogReader.open(self._directory, fs=self._fs) as reader:
            start = max(reader.start_offset, reader.end_offset - REQUEST_WINDOW_OFFSETS)
            window.load(reader.batches(start))

    def _fail(self, failure: MetadataLogError) -> None:
        self._failure = failure
        for pending in self._writing:
            pending.refuse(_maybe_written(failure))
        for pending in _drain(self._pending):
            pending.refuse(_never_written(failure))

    def _sync_mark_soon(self) -> None:
        if self._sync_mark_in_time and self._mark_timer is None and not self._closing:
            loop = asyncio.get_running_loop()
            self._mark_timer = loop.call_later(MARK_SYNC_INTERVAL_MS / 1_000, self._sync_mark)

    def _sync_mark(self) -> None:
        """Have the writer's task do it, between two groups."""
        self._mark_timer = None
        self._mark_is_due = True
        self._wake.set()


def _maybe_written(failure: MetadataLogError) -> MetadataLogError:
    message = f"{failure}; the outcome is unknown: the batch may have been committed or not"
    return failure.with_outcome(Outcome.UNKNOWN, message)


def _never_written(failure: MetadataLogError) -> MetadataLogError:
    if failure.outcome is Outcome.NOTHING:
        return failure
    return failure.with_outcome(Outcome.NOTHING, f"{failure}; nothing of the batch was written")


def _can_be_looked_for(origin: object) -> bool:
    """Whether the requests can be searched for an origin; encoding checks its other values."""
    if isinstance(origin, Origin):
        return origin.request_id is None or isinstance(origin.request_id, str)
    return origin is None


def _drain(pending: deque[_Pending]) -> list[_Pending]:
    drained = list(pending)
    pending.clear()
    return drained
