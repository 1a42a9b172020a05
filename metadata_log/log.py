"""The own log: it gives every batch its offsets, epoch and time, and commits it.

Group commit: batches that arrive while a sync runs are encoded and written together and share the
next one. One task does the writing, so that batches commit in the order of the calls.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

import msgspec

from metadata_log.batch import NewBatch
from metadata_log.chain import check_chain
from metadata_log.clock import Clock, SystemClock
from metadata_log.commit_mark import read_mark
from metadata_log.fs import Fs, Lock, OsFs
from metadata_log.limits import BATCH_RECORDS_MAX, MARK_SYNC_INTERVAL_MS, PENDING_BATCHES_MAX
from metadata_log.lock import lock_directory
from metadata_log.log_writer import EMPTY_TAIL, LogWriter, create_mark
from metadata_log.manifest import Kind, Manifest, read_manifest, write_manifest
from metadata_log.names import claim_name, claimed_epoch
from metadata_log.recovery import recover
from records.control import LeaderChangeMessage, LeaderChangeVoter
from records.envelope import Envelope
from records.errors import FencedError, RequestError, UnavailableError
from records.registry import newest_version

RunBlocking = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs what waits for the disk without holding up the event loop."""


class AppendResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where a batch was committed. `end_offset` is exclusive, `timestamp` in ms since 1970."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    timestamp: int


class _Pending(msgspec.Struct, frozen=True):
    batch: NewBatch
    expected_end_offset: int | None
    answer: asyncio.Future[AppendResult]


def create_log(directory: Path, cluster_id: str, *, fs: Fs | None = None) -> None:
    """Make an empty own log.

    Raises:
        RequestError: the directory exists and is not empty.
    """
    fs = fs or OsFs()
    with contextlib.suppress(FileExistsError):
        fs.make_directory(directory)
    if fs.list(directory):
        raise RequestError("LOG_EXISTS", f"{directory} is not empty; name a new directory")
    create_mark(fs, directory)
    writer = LogWriter(fs, directory, cluster_id, EMPTY_TAIL, sequence=0, confirmed_end=0)
    writer.start_segment(leader_epoch=0)
    writer.close()
    # The manifest comes last: without it the directory is no log yet.
    write_manifest(fs, directory, Manifest(cluster_id=cluster_id, kind=Kind.OWN))
    fs.sync_directory(directory)
    fs.sync_directory(directory.parent)


class MetadataLog:
    """The one writer of an own log.

    Attributes:
        leader_epoch: The epoch this writer claimed.
        end_offset: First offset not yet written; exclusive, committed or not.
    """

    def __init__(
        self, writer: LogWriter, lock: Lock, clock: Clock, epoch: int, run_blocking: RunBlocking
    ) -> None:
        self._run_blocking = run_blocking
        self._writer = writer
        self._lock = lock
        self._clock = clock
        self._last_timestamp = writer.tail.max_timestamp or 0
        self._pending: deque[_Pending] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._failure: Exception | None = None
        self._mark_timer: asyncio.TimerHandle | None = None
        self.leader_epoch = epoch
        self._task = asyncio.create_task(self._run(), name="metadata log writer")

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        node_id: int = 0,
        clock: Clock | None = None,
        fs: Fs | None = None,
        run_blocking: RunBlocking = asyncio.to_thread,
    ) -> Self:
        """Become the writer: lock, claim a higher epoch, recover the tail, announce the epoch.

        Args:
            run_blocking: How to wait for the disk; a thread, unless the disk is simulated.

        Raises:
            RequestError: no log, or a mirror, which takes no records.
            UnavailableError: another writer holds the lock.
            CorruptLogError: a segment is missing, shortened, or damaged at its header, or the
                last one is damaged below the commit mark.
        """
        fs, directory = fs or OsFs(), directory.absolute()
        manifest = read_manifest(fs, directory)
        if manifest.kind is Kind.MIRROR:
            raise RequestError(
                "NOT_CONTROLLER",
                f"{directory} mirrors a Kafka cluster and takes no records; make an own log of it "
                f"with `metalog fork {directory} LOG --at end`",
            )
        lock = lock_directory(fs, directory)
        try:
            epoch = _claim_epoch(fs, directory, read_mark(fs, directory).leader_epoch)
            # Read the tail only now: who claimed before us may have written until our claim.
            mark = read_mark(fs, directory)
            tail = recover(fs, directory, mark)
            check_chain(fs, directory)
            writer = LogWriter(
                fs,
                directory,
                manifest.cluster_id,
                tail,
                sequence=mark.sequence,
                confirmed_end=tail.end_offset,
            )
            writer.start_segment(epoch)
        except BaseException:
            lock.release()
            raise
        log = cls(writer, lock, clock or SystemClock(), epoch, run_blocking)
        voter = (LeaderChangeVoter(voter_id=node_id),)
        announcement = LeaderChangeMessage(
            version=0, leader_id=node_id, voters=voter, granting_voters=voter
        )
        await log.append(NewBatch(records=(announcement,), record_versions=(0,)))
        return log

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive."""
        return self._writer.tail.end_offset

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        """Commit a batch: all of it or nothing, in the order of the calls.

        Returns once the bytes are on stable storage. A caller that is cancelled does not know
        whether its batch was committed.

        Raises:
            RequestError: the batch is empty or too large, or the log does not end at
                `expected_end_offset` when it is this batch's turn; nothing was written.
            UnavailableError: too many batches wait, the disk is full, or the log is closed.
            FencedError: an earlier write failed; the outcome is unknown.
        """
        if not 0 < len(batch.records) <= BATCH_RECORDS_MAX:
            raise RequestError(
                "POLICY_VIOLATION",
                f"a batch of {len(batch.records)} records; 1 to {BATCH_RECORDS_MAX} are allowed",
            )
        if self._failure is not None:
            raise self._failure
        if self._closing or len(self._pending) >= PENDING_BATCHES_MAX:
            raise UnavailableError("the log is closing or overloaded; try again")
        answer: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        self._pending.append(_Pending(batch, expected_end_offset, answer))
        self._wake.set()
        return await answer

    async def close(self) -> None:
        """Commit what was accepted, and give the log up; after a failed write, only that."""
        self._closing = True
        self._wake.set()
        await self._task
        if self._mark_timer is not None:
            self._mark_timer.cancel()
        end = self._writer.close if self._failure is None else self._writer.abandon
        await self._run_blocking(end)
        self._lock.release()

    async def _run(self) -> None:
        while self._pending or not self._closing:
            await self._wake.wait()
            self._wake.clear()
            while self._pending and self._failure is None:
                await self._commit_group()
            if self._failure is not None:
                self._refuse_all(self._failure)

    async def _commit_group(self) -> None:
        group = list(self._pending)
        self._pending.clear()
        answers: list[tuple[asyncio.Future[AppendResult], AppendResult]] = []
        try:
            for pending in group:
                result = self._write(pending)
                if result is not None:
                    answers.append((pending.answer, result))
            if answers:
                await self._run_blocking(self._writer.commit)
        except OSError as error:
            # What reached the disk is unknown: never try the same sync again and believe it.
            self._failure = FencedError(f"writing the log failed: {error}; open it again")
            self._pending.extendleft(reversed(group))
            return
        for answer, result in answers:
            if not answer.done():
                answer.set_result(result)
        self._sync_mark_soon()

    def _write(self, pending: _Pending) -> AppendResult | None:
        """Encode and write one batch of a group; None when it is refused."""
        batch, base = pending.batch, self.end_offset
        if pending.expected_end_offset not in (None, base):
            if not pending.answer.done():
                message = f"the log ends at {base}, expected {pending.expected_end_offset}"
                pending.answer.set_exception(RequestError("INVALID_UPDATE_VERSION", message))
            return None
        decided = self._clock.now_ms() if batch.timestamp is None else batch.timestamp
        timestamp = self._last_timestamp = max(decided, self._last_timestamp)
        versions = batch.record_versions or [newest_version(type(r)) for r in batch.records]
        rows = [
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
        end = base + len(rows)
        try:
            self._writer.write(rows, end)
        except RequestError as error:
            if not pending.answer.done():
                pending.answer.set_exception(error)
            return None
        # In an own log nothing that is committed is ever replaced.
        self._writer.confirmed_end = end
        return AppendResult(
            base_offset=base, end_offset=end, leader_epoch=self.leader_epoch, timestamp=timestamp
        )

    def _refuse_all(self, error: Exception) -> None:
        while self._pending:
            answer = self._pending.popleft().answer
            if not answer.done():
                answer.set_exception(error)

    def _sync_mark_soon(self) -> None:
        if self._mark_timer is None and not self._closing:
            loop = asyncio.get_running_loop()
            self._mark_timer = loop.call_later(MARK_SYNC_INTERVAL_MS / 1_000, self._sync_mark)

    def _sync_mark(self) -> None:
        self._mark_timer = None
        asyncio.get_running_loop().run_in_executor(None, self._writer.sync_mark)


def _claim_epoch(fs: Fs, directory: Path, marked_epoch: int) -> int:
    """Claim the next epoch by creating its file, on stable storage before anything is read."""
    names = fs.list(directory)
    claims = sorted(epoch for name in names if (epoch := claimed_epoch(name)) is not None)
    epoch = max([marked_epoch, *claims]) + 1
    try:
        fs.open(directory / claim_name(epoch), create=True).close()
    except FileExistsError as error:
        raise UnavailableError(f"epoch {epoch} was claimed by another writer; try again") from error
    fs.sync_directory(directory)
    for old in claims[:-1]:
        fs.unlink(directory / claim_name(old))
    return epoch
