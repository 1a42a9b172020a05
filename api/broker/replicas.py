"""All replicas of a broker: brings the disk in line with the controller's requests.

A FULL request names every partition of the broker, so anything else on disk is stale. In any
request, a partition whose topic id or creation offset differs from the folder's makes the folder
stale. Stale folders are moved to `deleting/` and removed after a delay; a folder whose topic id is
known under another name is renamed instead.

Requests are carried out one at a time, their partitions concurrently. Disk work runs in threads;
the broker's state changes only on the event loop.

Source: KIP-516.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from api.broker.disk import Disk
from api.broker.identity import completed_by, named_by, nobodys, why_stale
from api.broker.log_directory import Found, LogDirectory, remove
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import PartitionMetadata, write_partition_metadata
from api.broker.replica import Replica, monotonic_ms
from api.broker.replica_registry import Name, ReplicaRegistry, name_of
from api.kafka.errors import CODES, NONE
from api.kafka.messages.replicas import (
    FULL,
    UNSPECIFIED,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrTopic,
    ReplicaResult,
    StoppedTopic,
    StopReplicaRequest,
)
from controller.decisions.broker_configs import (
    BROKER_CONFIGS,
    DELETE_STALE_DELAY,
)
from metadata_log.clock import SystemClock
from records.base import ZERO_UUID, Uuid
from records.errors import CorruptLogError, RequestError
from records.text import uuid_text

log = logging.getLogger(__name__)

_DELETE_STALE_DELAY_MS = int(BROKER_CONFIGS[DELETE_STALE_DELAY].default)

_SIDE_BY_SIDE = 64
"""How many partitions of a request are processed concurrently; more than there are disk threads."""

now_ms = SystemClock().now_ms
"""Wall clock, ms since 1970: stale folders keep this time across restarts."""


class Replicas:
    """The replicas of one broker.

    Attributes:
        delete_stale_delay_ms: How long stale folders are kept; applies to existing ones, too.
    """

    def __init__(
        self,
        broker_id: int,
        directories: Sequence[LogDirectory],
        disk: Disk,
        *,
        delete_stale_delay_ms: int = _DELETE_STALE_DELAY_MS,
    ) -> None:
        """Load what is on disk; nothing is served before the controller names it.

        Reads all of it, so call this in a thread or before anything is served.

        Raises:
            RequestError: INVALID_REQUEST, two directories hold the same partition.
            CorruptLogError: a folder's content is damaged.
            OSError: a folder cannot be read.
        """
        self._broker_id = broker_id
        self._directories = directories
        self._disk = disk
        self._registry = ReplicaRegistry(directories)
        self._one_at_a_time = asyncio.Lock()
        self._under_way: set[asyncio.Task[tuple[ReplicaResult, ...]]] = set()
        self.delete_stale_delay_ms = delete_stale_delay_ms
        for directory in directories:
            for found in directory.partitions():
                self._registry.add(self._found(directory, found))

    def __iter__(self) -> Iterator[Replica]:
        """Iterate over all replicas, served or not."""
        return iter(self._registry)

    def get(self, name: str, partition: int) -> Replica | None:
        """Return the replica with this name."""
        return self._registry.get((name, partition))

    def has_topic(self, topic_id: Uuid) -> bool:
        """True if a partition of a topic is here, under any name."""
        return self._registry.has_topic(topic_id)

    async def take_over(self, request: LeaderAndIsrRequest) -> tuple[ReplicaResult, ...]:
        """Bring the disk in line with a request, and assign the roles in it.

        A cancelled call is still carried out to its end.
        """
        return await self._to_its_end(self._take_over(request))

    async def leave(self, request: StopReplicaRequest) -> tuple[ReplicaResult, ...]:
        """Stop serving and following partitions, and delete them if the request says so.

        A cancelled call is still carried out to its end.
        """
        return await self._to_its_end(self._leave(request))

    async def purge(self, now_ms: int) -> None:
        """Remove the stale folders that are due."""
        delay_ms = self.delete_stale_delay_ms
        for directory in self._directories:
            try:
                await self._disk.run(_purge, directory, now_ms, delay_ms)
            except OSError as error:
                log.warning("stale partitions in %s cannot be removed: %s", directory.path, error)

    async def close(self) -> bool:
        """Finish work in progress; True if everything is on stable storage."""
        async with self._one_at_a_time:
            closing = await asyncio.gather(
                *[replica.close() for replica in self._registry], return_exceptions=True
            )
        failed = [error for error in closing if isinstance(error, BaseException)]
        if failed:
            log.warning("%d partitions could not be synced, one: %s", len(failed), failed[0])
        return not failed

    async def _to_its_end(
        self, request: Coroutine[Any, Any, tuple[ReplicaResult, ...]]
    ) -> tuple[ReplicaResult, ...]:
        """Carry out a request even if the caller is cancelled.

        Half of one would leave the disk and the state in memory different.
        """
        task = asyncio.create_task(request, name="controller request")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def _take_over(self, request: LeaderAndIsrRequest) -> tuple[ReplicaResult, ...]:
        async with self._one_at_a_time:
            if request.type == FULL:
                await self._stage_absent(request)
            stuck = set() if request.type == UNSPECIFIED else await self._rename_moved(request)
            return await _side_by_side(
                _storage_error(topic, state.partition)
                if (topic.topic, state.partition) in stuck
                else self._taken(topic, state, request.type)
                for topic in request.topic_states
                for state in topic.partition_states
            )

    async def _leave(self, request: StopReplicaRequest) -> tuple[ReplicaResult, ...]:
        async with self._one_at_a_time:
            return await _side_by_side(
                self._left(topic, partition, delete=request.delete_partitions)
                for topic in request.partitions
                for partition in topic.partition_ids
            )

    def _found(self, directory: LogDirectory, found: Found) -> Replica:
        other = self._registry.get((found.name, found.partition))
        if other is not None:
            raise RequestError(
                "INVALID_REQUEST",
                f"{found.path} and {other.path} hold the same partition; keep one of them",
            )
        # The folder's name counts: a crash may have left the file ahead of a rename.
        metadata = msgspec.structs.replace(
            found.metadata or nobodys(found), name=found.name, partition=found.partition
        )
        replica_log = PartitionLog.open(found.path, self._disk.files)
        return Replica(self._broker_id, metadata, directory, replica_log, self._disk)

    async def _stage_absent(self, request: LeaderAndIsrRequest) -> None:
        """Mark as stale every replica that a FULL request does not name, by id or by name."""
        ids = {(t.topic_id, p.partition) for t in request.topic_states for p in t.partition_states}
        names = {(t.topic, p.partition) for t in request.topic_states for p in t.partition_states}
        for replica in self._registry:
            key = (replica.metadata.topic_id, replica.metadata.partition)
            is_unknown = replica.metadata.topic_id == ZERO_UUID
            if not (name_of(replica) in names if is_unknown else key in ids):
                try:
                    await self._stage(replica, "the controller does not name it any more")
                except OSError as error:
                    log.warning("%s cannot be moved away: %s", replica.path, error)

    async def _rename_moved(self, request: LeaderAndIsrRequest) -> set[Name]:
        """Rename the folders of topics that have a new name; never mark them stale.

        Returns:
            The new names whose folders could not be renamed.
        """
        moved: dict[Name, Replica] = {}
        for topic in request.topic_states:
            if topic.topic_id == ZERO_UUID:
                continue
            for state in topic.partition_states:
                replica = self._registry.of(topic.topic_id, state.partition)
                new = (topic.topic, state.partition)
                if replica is not None and name_of(replica) != new:
                    moved[new] = replica
        for replica in moved.values():
            self._registry.remove(replica)
        # A topic may get a name that another is about to lose; the other one steps aside first.
        in_the_way = {new: r for new, r in moved.items() if name_of(r) in moved}
        stuck = await self._try_each(in_the_way, self._step_aside)
        return stuck | await self._try_each(
            {new: replica for new, replica in moved.items() if new not in stuck}, self._rename
        )

    async def _try_each(
        self, moved: dict[Name, Replica], rename: Callable[[Name, Replica], Awaitable[None]]
    ) -> set[Name]:
        """Rename some folders; return the new names of those that failed."""
        stuck = set()
        for new, replica in moved.items():
            try:
                await rename(new, replica)
            except OSError as error:
                log.warning("%s cannot be renamed: %s", replica.path, error)
                if name_of(replica) not in self._registry:
                    self._registry.add(replica)
                stuck.add(new)
        return stuck

    async def _step_aside(self, _: Name, replica: Replica) -> None:
        directory, metadata = replica.directory, replica.metadata
        await self._disk.run(replica.log.move, lambda path: directory.step_aside(path, metadata))

    async def _rename(self, new: Name, replica: Replica) -> None:
        occupant = self._registry.get(new)
        if occupant is not None:
            await self._stage(occupant, "another topic has its name now")
        directory = replica.directory
        metadata = msgspec.structs.replace(replica.metadata, name=new[0])
        await self._disk.run(replica.log.move, lambda path: directory.rename(path, metadata))
        replica.metadata = metadata
        self._registry.add(replica)

    async def _taken(
        self, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition, request_type: int
    ) -> ReplicaResult:
        code = NONE
        try:
            await self._take(topic, state, request_type)
        except RequestError as error:
            code = CODES[error.code]
            log.warning("%s_%d: %s", topic.topic, state.partition, error)
        except (OSError, CorruptLogError) as error:
            code = CODES["KAFKA_STORAGE_ERROR"]
            log.warning("%s_%d: %s", topic.topic, state.partition, error)
        return ReplicaResult(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partition=state.partition,
            error_code=code,
        )

    async def _take(
        self, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition, request_type: int
    ) -> None:
        replica = self._registry.get((topic.topic, state.partition))
        reason = None if replica is None else why_stale(replica.metadata, topic, state)
        if replica is not None and reason is not None:
            if request_type == UNSPECIFIED:
                raise RequestError("INCONSISTENT_TOPIC_ID", reason)
            await self._stage(replica, reason)
            replica = None
        if replica is None:
            if state.leader < 0:
                return  # no data yet
            replica = await self._created(named_by(topic, state))
        await self._identify(replica, completed_by(replica.metadata, topic, state))
        async with replica.order:
            replica.assign(state, monotonic_ms())

    async def _created(self, metadata: PartitionMetadata) -> Replica:
        directory = self._registry.reserve_directory()
        try:
            path = await self._disk.run(directory.create, metadata)
        finally:
            self._registry.release_directory(directory)
        # A new folder holds no segments.
        replica_log = PartitionLog(path, self._disk.files)
        replica = Replica(self._broker_id, metadata, directory, replica_log, self._disk)
        self._registry.add(replica)
        return replica

    async def _identify(self, replica: Replica, completed: PartitionMetadata) -> None:
        """Complete the identity in a folder's metadata file."""
        if completed != replica.metadata and completed.topic_id != ZERO_UUID:
            await self._disk.run(write_partition_metadata, replica.path, completed)
            self._registry.describe(replica, completed)

    async def _left(self, topic: StoppedTopic, partition: int, *, delete: bool) -> ReplicaResult:
        code = NONE
        try:
            replica = self._of(topic, partition)
            if replica is not None:
                replica.stop()
            if delete:
                await self._delete(topic.topic_id, partition, replica)
        except OSError as error:
            code = CODES["KAFKA_STORAGE_ERROR"]
            log.warning("%s_%d cannot be deleted: %s", topic.topic, partition, error)
        return ReplicaResult(
            topic=topic.topic, topic_id=topic.topic_id, partition=partition, error_code=code
        )

    def _of(self, topic: StoppedTopic, partition: int) -> Replica | None:
        if topic.topic_id == ZERO_UUID:
            return self._registry.get((topic.topic, partition))
        return self._registry.of(topic.topic_id, partition)

    async def _delete(self, topic_id: Uuid, partition: int, replica: Replica | None) -> None:
        """Remove a replica and its stale earlier incarnations at once."""
        if replica is not None:
            await replica.close()
            await self._move_away(replica, topic_id, partition, None)
            await self._disk.run(remove, replica.path)
        if topic_id != ZERO_UUID:
            await self._disk.run(_delete_staged, self._directories, topic_id, partition)

    async def _stage(self, replica: Replica, reason: str) -> None:
        staged_at_ms = now_ms()
        log.warning(
            "%s (topic id %s) is stale: %s; it will be deleted at %s",
            replica.path,
            uuid_text(replica.metadata.topic_id),
            reason,
            _time_text(staged_at_ms + self.delete_stale_delay_ms),
        )
        await replica.close()
        metadata = replica.metadata
        await self._move_away(replica, metadata.topic_id, metadata.partition, staged_at_ms)

    async def _move_away(
        self, replica: Replica, topic_id: Uuid, partition: int, staged_at_ms: int | None
    ) -> None:
        directory = replica.directory
        # The log moves with its folder: a fetch that still reads it must not see the records of the
        # next partition of this name.
        await self._disk.run(
            replica.log.move, lambda path: directory.stage(path, topic_id, partition, staged_at_ms)
        )
        self._registry.remove(replica)


async def _side_by_side(
    partitions: Iterable[Coroutine[Any, Any, ReplicaResult]],
) -> tuple[ReplicaResult, ...]:
    """Run a bounded number at a time; thousands at once would block the event loop."""
    results: list[ReplicaResult] = []
    left = iter(partitions)
    while some := list(islice(left, _SIDE_BY_SIDE)):
        results += await asyncio.gather(*some)
    return tuple(results)


def _purge(directory: LogDirectory, now_ms: int, delay_ms: int) -> None:
    for stale in directory.stale(delay_ms):
        if stale.delete_at_ms <= now_ms:
            try:
                remove(stale.path)
            except OSError as error:
                log.warning("%s cannot be removed: %s", stale.path, error)


def _delete_staged(directories: Sequence[LogDirectory], topic_id: Uuid, partition: int) -> None:
    for directory in directories:
        for waiting in directory.stale_of(topic_id, partition):
            remove(waiting)


def _time_text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(timespec="seconds")


async def _storage_error(topic: LeaderAndIsrTopic, partition: int) -> ReplicaResult:
    return ReplicaResult(
        topic=topic.topic,
        topic_id=topic.topic_id,
        partition=partition,
        error_code=CODES["KAFKA_STORAGE_ERROR"],
    )
