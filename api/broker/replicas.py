"""All replicas of a broker: creates, renames and removes them as the controller requests.

A FULL request lists every partition of the broker, so any other folder on disk is stale. With a
request of any type, a folder is stale if its topic id or creation offset differs from that in the
request. Stale folders are moved to `deleting/` and removed after a delay. A folder whose topic id
is in the request under another name is not stale, but renamed.

Requests are carried out one at a time; the partitions of a request are processed concurrently. Disk
work runs in threads; the broker's state changes only on the event loop.

Source: KIP-516.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from api.broker.directory_moves import DirectoryMoves
from api.broker.disk import Disk
from api.broker.folder_renames import FolderRenames
from api.broker.future_log import recover_future_logs
from api.broker.identity import completed_by, named_by, nobodys, why_stale
from api.broker.log_directory import Found, LogDirectory
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import PartitionMetadata, write_partition_metadata
from api.broker.replica import Replica, monotonic_ms
from api.broker.replica_registry import ReplicaRegistry, name_of
from api.broker.stale_folders import StaleFolders
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
from controller.decisions.config_definitions.brokers import (
    BROKER_CONFIGS,
    DELETE_STALE_DELAY,
)
from records.base import ZERO_UUID
from records.errors import CorruptLogError, RequestError

log = logging.getLogger(__name__)

_DELETE_STALE_DELAY_MS = int(BROKER_CONFIGS[DELETE_STALE_DELAY].default)

_SIDE_BY_SIDE = 64
"""How many partitions of a request are processed concurrently; more than there are disk threads."""


class Replicas:
    """The replicas of one broker.

    Attributes:
        stale: Moves stale folders to `deleting/`, and removes them later.
        moves: The moves of replicas between log directories.
    """

    def __init__(
        self,
        broker_id: int,
        directories: Sequence[LogDirectory],
        disk: Disk,
        *,
        delete_stale_delay_ms: int = _DELETE_STALE_DELAY_MS,
    ) -> None:
        """Load the replicas on disk; each is served once the controller has assigned its role.

        All segments are read, so call this in a thread or before the broker serves requests.

        Raises:
            RequestError: INVALID_REQUEST, two directories contain the same partition.
            CorruptLogError: a folder's content is damaged.
            OSError: a folder cannot be read.
        """
        self._broker_id = broker_id
        self._directories = directories
        self._disk = disk
        self._registry = ReplicaRegistry(directories)
        self._one_at_a_time = asyncio.Lock()
        self._under_way: set[asyncio.Task[tuple[ReplicaResult, ...]]] = set()
        self.stale = StaleFolders(self._registry, directories, disk, delete_stale_delay_ms)
        self._renames = FolderRenames(self._registry, self.stale, disk)
        self.moves = DirectoryMoves(self._registry, disk, self._one_at_a_time)
        self._interrupted = recover_future_logs(directories)
        for directory in directories:
            for found in directory.partitions():
                self._registry.add(self._found(directory, found))

    def __iter__(self) -> Iterator[Replica]:
        """Iterate over all replicas, whether or not they have a role."""
        return iter(self._registry)

    def get(self, name: str, partition: int) -> Replica | None:
        """Return the replica of a topic's partition; None if this broker has none."""
        return self._registry.get((name, partition))

    async def resume_moves(self) -> None:
        """Restart the moves between log directories that the previous process did not finish."""
        await self.moves.start_again(self._interrupted)

    async def take_over(self, request: LeaderAndIsrRequest) -> tuple[ReplicaResult, ...]:
        """Carry out a LeaderAndIsr request: create, rename or remove folders, and assign the roles.

        If the call is cancelled, the request is still carried out completely.
        """
        return await self._to_its_end(self._take_over(request))

    async def leave(self, request: StopReplicaRequest) -> tuple[ReplicaResult, ...]:
        """Carry out a StopReplica request: stop replicas, and delete them if requested.

        If the call is cancelled, the request is still carried out completely.
        """
        return await self._to_its_end(self._leave(request))

    async def close(self) -> bool:
        """Finish work in progress and sync all logs; True if all records are on stable storage."""
        await self.moves.close()
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
        """Carry out a request completely, even if the caller is cancelled.

        If a request were carried out only in part, the disk and the state in memory could differ.
        """
        task = asyncio.create_task(request, name="controller request")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def _take_over(self, request: LeaderAndIsrRequest) -> tuple[ReplicaResult, ...]:
        async with self._one_at_a_time:
            if request.type == FULL:
                await self._stage_absent(request)
            stuck = set() if request.type == UNSPECIFIED else await self._renames.carry_out(request)
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
        """Move the folder of every replica that is not in a FULL request to `deleting/`.

        Replicas are compared by topic id, or by name if their topic id is unknown.
        """
        ids = {(t.topic_id, p.partition) for t in request.topic_states for p in t.partition_states}
        names = {(t.topic, p.partition) for t in request.topic_states for p in t.partition_states}
        for replica in self._registry:
            key = (replica.metadata.topic_id, replica.metadata.partition)
            is_unknown = replica.metadata.topic_id == ZERO_UUID
            if not (name_of(replica) in names if is_unknown else key in ids):
                try:
                    await self.stale.stage(replica, "the controller does not name it any more")
                except OSError as error:
                    log.warning("%s cannot be moved away: %s", replica.path, error)

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
            await self.stale.stage(replica, reason)
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
        """Write the completed identity into the replica's metadata file, if it has changed."""
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
                await self.stale.delete(topic.topic_id, partition, replica)
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


async def _side_by_side(
    partitions: Iterable[Coroutine[Any, Any, ReplicaResult]],
) -> tuple[ReplicaResult, ...]:
    """Run the coroutines, a limited number at a time, and return their results in order.

    Thousands of coroutines at the same time would block the event loop.
    """
    results: list[ReplicaResult] = []
    left = iter(partitions)
    while some := list(islice(left, _SIDE_BY_SIDE)):
        results += await asyncio.gather(*some)
    return tuple(results)


async def _storage_error(topic: LeaderAndIsrTopic, partition: int) -> ReplicaResult:
    return ReplicaResult(
        topic=topic.topic,
        topic_id=topic.topic_id,
        partition=partition,
        error_code=CODES["KAFKA_STORAGE_ERROR"],
    )
