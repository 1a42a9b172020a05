"""One replica: its log, its role in the partition, and the progress of its followers.

The high watermark is the offset below which every in-sync replica has all records; clients read
only below it. A leader derives it from its followers' fetches; a follower gets it from the leader.

Source: KIP-101 and KIP-279 (leader epochs), KIP-497 (the ISR is changed by the controller).
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from api.broker.batch_places import EpochEnd
from api.broker.batches import produced_batches, whole_batches
from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import PartitionMetadata
from api.broker.record_rules import DEFAULT_RULES, RecordRules
from api.kafka.messages.replicas import LeaderAndIsrPartition
from records.errors import CorruptLogError, RequestError

ANY_EPOCH = -1
"""Leader epoch of a request that does not name one."""

_UNKNOWN = -1
"""Start of a follower's log before its first fetch."""


def monotonic_ms() -> int:
    """Return the monotonic clock's time in ms, to measure the lag of followers.

    The wall clock is not used, because setting that clock could shrink an ISR.
    """
    return time.monotonic_ns() // 1_000_000


class Progress(msgspec.Struct):
    """A follower's progress: the start and end of its log, and when it had last caught up."""

    start_offset: int = _UNKNOWN
    end_offset: int = -1
    caught_up_ms: int = 0


class Replica:
    """A replica on this broker.

    Attributes:
        state: The partition's latest state from the controller; None before the first state, and
            after `stop`.
        high_watermark: The high watermark, exclusive. It is never below the log's start or above
            the log's end.
        pending_isr: The ISR proposed to the controller, as long as the outcome is unknown; else
            None.
        disk: Runs the log's disk work.
        order: Lock for writing the log or changing its leader epoch; waiting callers get the lock
            in order.
    """

    def __init__(
        self,
        broker_id: int,
        metadata: PartitionMetadata,
        directory: LogDirectory,
        log: PartitionLog,
        disk: Disk,
    ) -> None:
        """Create a replica with an existing log; it serves no requests before `assign`."""
        self._broker_id = broker_id
        self.metadata = metadata
        self.directory = directory
        self.log = log
        self.order = asyncio.Lock()
        self.disk = disk
        self.state: LeaderAndIsrPartition | None = None
        self.high_watermark = log.start_offset
        self.pending_isr: tuple[int, ...] | None = None
        self._followers: dict[int, Progress] = {}
        self._epoch_start = 0
        self._moved = asyncio.Event()

    @property
    def path(self) -> Path:
        """The folder of the log."""
        return self.log.folder

    @property
    def is_leader(self) -> bool:
        """True if this broker leads the partition."""
        return self.state is not None and self.state.leader == self._broker_id

    @property
    def leader_to_follow(self) -> int | None:
        """The broker to fetch from; None if there is no leader or this broker is the leader."""
        if self.state is None or self.is_leader or self.state.leader < 0:
            return None
        return self.state.leader

    @property
    def leader_epoch(self) -> int:
        """The latest leader epoch from the controller; -1 if `state` is None."""
        return ANY_EPOCH if self.state is None else self.state.leader_epoch

    def assign(self, state: LeaderAndIsrPartition, now_ms: int) -> None:
        """Apply the partition's state from the controller, unless the current state is newer.

        Args:
            now_ms: The current time, from `monotonic_ms`.
        """
        old = self.state
        if old is not None:
            versions = state.leader_epoch, state.zk_version
            known_versions = old.leader_epoch, old.zk_version
            if versions < known_versions:
                return
            if versions > known_versions:
                # The proposal was applied before this state or never: its partition epoch is
                # outdated.
                self.pending_isr = None
        self.state = state
        if old is None or old.leader_epoch != state.leader_epoch:
            self._epoch_start = self.log.end_offset
            self._followers = {}
        self.high_watermark = min(self.high_watermark, self.log.end_offset)
        if self.is_leader:
            for broker_id in state.replicas:
                left = old is not None and broker_id in old.isr and broker_id not in state.isr
                if broker_id == self._broker_id:
                    continue
                if left or broker_id not in self._followers:
                    # A follower that left the ISR must fetch again before it may rejoin.
                    self._followers[broker_id] = Progress(caught_up_ms=now_ms)
            self._advance()
        self.wake()

    def stop(self) -> None:
        """Stop serving requests and following the leader."""
        self.state = None
        self.pending_isr = None
        self.wake()

    def check_leader(self, leader_epoch: int) -> LeaderAndIsrPartition:
        """Return the partition's state, if this broker leads the partition in this epoch.

        Raises:
            RequestError: NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
        """
        state = self.state
        if state is None or not self.is_leader:
            leader = "nobody" if state is None else f"broker {state.leader}"
            raise RequestError(
                "NOT_LEADER_OR_FOLLOWER",
                f"this broker does not lead the partition; as far as it knows, {leader} leads",
            )
        if leader_epoch != ANY_EPOCH and leader_epoch != state.leader_epoch:
            code = "FENCED_LEADER_EPOCH"
            if leader_epoch > state.leader_epoch:
                code = "UNKNOWN_LEADER_EPOCH"
            raise RequestError(
                code,
                f"the request has leader epoch {leader_epoch}, the broker has {state.leader_epoch}",
            )
        return state

    def append(
        self, content: bytes, rules: RecordRules = DEFAULT_RULES
    ) -> "asyncio.Task[tuple[int, int]]":
        """As leader, start to write a client's batches, after the writes that were already started.

        The write continues if the caller stops waiting for it.

        Args:
            rules: The topic's rules for new batches.

        Returns:
            A task that returns the offset of the first record and the offset after the last record.
            If the task raises, nothing was written. It raises RequestError (as `produced_batches`
            and `RecordRules.applied`; or NOT_LEADER_OR_FOLLOWER, the leader has changed), or
            OSError (the disk failed).
        """
        task = asyncio.create_task(self._append(content, rules, self.leader_epoch), name="append")
        # Retrieves its error, which asyncio would log if the client is gone.
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return task

    async def _append(
        self, content: bytes, rules: RecordRules, leader_epoch: int
    ) -> tuple[int, int]:
        async with self.order:
            if self.leader_epoch != leader_epoch or not self.is_leader:
                raise RequestError(
                    "NOT_LEADER_OR_FOLLOWER",
                    f"the leader changed after epoch {leader_epoch}; refresh metadata and retry",
                )
            offsets = await self.disk.run(self._write, content, rules, leader_epoch)
            self._advance()
            self.wake()
            return offsets

    def _write(self, content: bytes, rules: RecordRules, leader_epoch: int) -> tuple[int, int]:
        now_ms = time.time_ns() // 1_000_000
        batches = [rules.applied(batch, now_ms) for batch in produced_batches(content)]
        return self.log.append_stamped(batches, leader_epoch)

    async def replicate(
        self,
        content: bytes,
        leader_epoch: int,
        leader_high_watermark: int,
        leader_start_offset: int = 0,
    ) -> None:
        """As follower, write the batches that the leader sent; skip those that the log already has.

        Records that the leader has deleted are deleted from this log, too. If `leader_epoch` is no
        longer the current epoch, nothing is done.

        Raises:
            OSError: the disk failed.
            CorruptLogError: a batch is damaged, or batches before it are missing.
        """
        async with self.order:
            if self.leader_epoch != leader_epoch:
                return
            if content:
                await self.disk.run(self._copy, content)
            self.high_watermark = max(
                self.high_watermark, min(leader_high_watermark, self.log.end_offset)
            )
            start_offset = min(leader_start_offset, self.high_watermark)
            if start_offset > self.log.start_offset:
                await self.disk.run(self.log.delete_before, start_offset)
            self.wake()

    def _copy(self, content: bytes) -> None:
        for batch in whole_batches(content):
            base_offset = batch.header.base_offset
            if base_offset > self.log.end_offset:
                raise CorruptLogError(
                    f"the log ends at {self.log.end_offset}, but the next batch is at {base_offset}"
                )
            if base_offset == self.log.end_offset:
                self.log.append([batch])

    async def truncate_to(self, offset: int, leader_epoch: int) -> None:
        """As follower, remove the records from `offset` on, which the leader does not have.

        If `leader_epoch` is no longer the current epoch, nothing is done.

        Raises:
            OSError: the disk failed.
        """
        async with self.order:
            if self.leader_epoch == leader_epoch:
                await self.disk.run(self.log.truncate_to, offset)
                self.high_watermark = min(self.high_watermark, self.log.end_offset)

    async def restart_at(self, offset: int, leader_epoch: int) -> None:
        """As follower, remove all records and restart the log at the start of the leader's log.

        If `leader_epoch` is no longer the current epoch, nothing is done.

        Args:
            offset: The start of the leader's log.

        Raises:
            OSError: the disk failed.
        """
        async with self.order:
            if self.leader_epoch == leader_epoch:
                await self.disk.run(self.log.restart_at, offset)
                # A leader deletes committed records only.
                self.high_watermark = offset
                self.wake()

    async def close(self) -> None:
        """Stop the replica, wait for writes in progress, and sync the log.

        Raises:
            OSError: the disk failed.
        """
        self.stop()
        async with self.order:
            await self.disk.run(self.log.close)

    @property
    def has_caught_up_with_epoch(self) -> bool:
        """As leader, return True if the high watermark covers all records of earlier leaders."""
        return self.high_watermark >= self._epoch_start

    def epoch_end(self, leader_epoch: int) -> EpochEnd | None:
        """As leader, return the end of an epoch; None if the epoch is later than the current one.

        An epoch without records ends where the next epoch begins. An epoch earlier than those of
        all records ends at the start of the log.
        """
        if leader_epoch > self.leader_epoch:
            return None
        if leader_epoch == self.leader_epoch:
            return EpochEnd(leader_epoch, self.log.end_offset)
        found = self.log.epoch_end(leader_epoch)
        return EpochEnd(leader_epoch, self.log.start_offset) if found is None else found

    def fetched_by(
        self, broker_id: int, offset: int, now_ms: int, start_offset: int = _UNKNOWN
    ) -> None:
        """As leader, record that a follower has all records from `start_offset` up to `offset`.

        Args:
            offset: The end of the follower's log, exclusive.
            now_ms: The current time, from `monotonic_ms`.
            start_offset: The start of the follower's log.
        """
        progress = self._followers.get(broker_id)
        if progress is None:
            return  # no replica of this partition
        if start_offset != progress.start_offset:
            progress.start_offset = start_offset
            self.wake()
        progress.end_offset = offset
        if offset >= self.log.end_offset:
            progress.caught_up_ms = now_ms
        self._advance()

    def low_watermark(self, is_live: Callable[[int], bool]) -> int:
        """As leader, return the lowest start offset of the live replicas; -1 if any is unknown."""
        live = [each.start_offset for b, each in self._followers.items() if is_live(b)]
        return min([self.log.start_offset, *live])

    def wanted_isr(
        self, now_ms: int, lag_ms_max: int, is_live: Callable[[int], bool]
    ) -> tuple[int, ...] | None:
        """Return the ISR to propose; None if the current ISR is right or a proposal is pending.

        A live follower is added if it has all records below the high watermark and below the start
        of the current leader epoch. A follower is removed if it has been behind for longer than
        `lag_ms_max`.

        Args:
            now_ms: The current time, from `monotonic_ms`.
        """
        state = self.state
        if state is None or not self.is_leader or self.pending_isr is not None:
            return None
        if state.replicas == state.isr == (self._broker_id,):
            return None  # the usual case
        isr = [
            b for b in state.isr if b == self._broker_id or not self._lags(b, now_ms, lag_ms_max)
        ]
        bar = max(self.high_watermark, self._epoch_start)
        for broker_id in state.replicas:
            progress = self._followers.get(broker_id)
            has_all = progress is not None and progress.end_offset >= bar
            if broker_id not in state.isr and has_all and is_live(broker_id):
                isr.append(broker_id)
        return None if set(isr) == set(state.isr) else tuple(isr)

    def isr_is(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """Apply the ISR that the controller has committed; no proposal is pending afterwards."""
        self.pending_isr = None
        if self.state is not None and partition_epoch >= self.state.zk_version:
            self.state = msgspec.structs.replace(self.state, isr=isr, zk_version=partition_epoch)
            self._advance()
            self.wake()

    def moved(self) -> Coroutine[Any, Any, bool]:
        """Return an awaitable for the next change of records, high watermark, log start or leader.

        It ends with the first change after this call, even if it is awaited only later: a reader
        calls this, looks at the replica, and then awaits.
        """
        return self._moved.wait()

    def _lags(self, broker_id: int, now_ms: int, lag_ms_max: int) -> bool:
        progress = self._followers.get(broker_id)
        if progress is None:
            return True
        behind = progress.end_offset < self.log.end_offset
        return behind and now_ms - progress.caught_up_ms > lag_ms_max

    def _advance(self) -> None:
        """Advance the high watermark to the lowest log end in the ISR and the pending ISR."""
        if self.state is None or not self.is_leader:
            return
        members = {*self.state.isr, *(self.pending_isr or ())} - {self._broker_id}
        ends = [self._followers[b].end_offset for b in members if b in self._followers]
        lowest = min([self.log.end_offset, *ends])
        if lowest > self.high_watermark:
            self.high_watermark = lowest
            self.wake()

    def wake(self) -> None:
        """Wake all callers that wait in `moved`."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
