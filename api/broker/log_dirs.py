"""Requests about a broker's log directories: describe them, and move replicas between them.

Source: KIP-113, KIP-827.
"""

import asyncio
import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.replica import Replica
from api.broker.replica_registry import Name, name_of
from api.broker.replicas import Replicas
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.errors import CODES, NONE, code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.log_dirs import (
    AlterReplicaLogDirPartition,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.authorization.caller import Caller
from records.base import ZERO_UUID
from records.errors import RequestError

log = logging.getLogger(__name__)


class LogDirsRequests:
    """Describes the log directories of one broker, and moves replicas between them."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        replicas: Replicas,
        disk: Disk,
        access: Callable[[Caller], Access],
    ) -> None:
        """Create the handlers of the requests.

        Args:
            access: Returns the current rights of a caller.
        """
        self._directories = directories
        self._replicas = replicas
        self._disk = disk
        self._access = access

    def handlers(self) -> dict[Api, Handler]:
        """Return the handlers of DescribeLogDirs and AlterReplicaLogDirs, for a listener."""
        return {
            apis.DESCRIBE_LOG_DIRS: self.describe,
            apis.ALTER_REPLICA_LOG_DIRS: self.alter,
        }

    async def alter(self, frame: RequestFrame, caller: Caller) -> Response:
        """Start to move replicas; needs ALTER on the cluster."""
        request = frame.body
        assert isinstance(request, AlterReplicaLogDirsRequest)
        allowed = self._access(caller).allows(Operation.ALTER, CLUSTER)
        results: defaultdict[str, list[AlterReplicaLogDirPartition]] = defaultdict(list)
        for wanted in request.dirs:
            for topic in wanted.topics:
                for partition in topic.partitions:
                    code = "CLUSTER_AUTHORIZATION_FAILED"
                    if allowed:
                        code = await self._moved(wanted.path, (topic.name, partition))
                    results[topic.name].append(
                        AlterReplicaLogDirPartition(
                            partition_index=partition, error_code=CODES[code]
                        )
                    )
        return AlterReplicaLogDirsResponse(
            results=tuple(
                [
                    AlterReplicaLogDirTopic(topic_name=name, partitions=tuple(found))
                    for name, found in results.items()
                ]
            )
        )

    async def _moved(self, path: str, name: Name) -> str:
        """Start to move a replica to directory `path`; return the error code's name, or NONE."""
        targets = [each for each in self._directories if str(each.path) == path]
        if not targets:
            return "LOG_DIR_NOT_FOUND"
        replica = self._replicas.get(*name)
        if replica is None or replica.metadata.topic_id == ZERO_UUID:
            return "REPLICA_NOT_AVAILABLE"
        try:
            await self._replicas.moves.start(replica, targets[0])
        except OSError as error:
            log.warning("%s is not moved to %s: %s", replica.path, path, error)
            return "KAFKA_STORAGE_ERROR"
        return "NONE"

    async def describe(self, frame: RequestFrame, caller: Caller) -> Response:
        """Describe the log directories and requested replicas; needs DESCRIBE on the cluster."""
        request = frame.body
        assert isinstance(request, DescribeLogDirsRequest)
        try:
            self._access(caller).require(Operation.DESCRIBE, CLUSTER)
        except RequestError as error:
            return DescribeLogDirsResponse(error_code=code_for(error))
        wanted = None if request.topics is None else _names(request.topics)
        results = await asyncio.gather(
            *[self._described(directory, wanted) for directory in self._directories]
        )
        return DescribeLogDirsResponse(results=tuple(results))

    async def _described(
        self, directory: LogDirectory, wanted: Container[Name] | None
    ) -> DescribeLogDirsResult:
        path = str(directory.path)
        try:
            space = await self._disk.run(shutil.disk_usage, directory.path)
        except OSError:
            return DescribeLogDirsResult(error_code=CODES["KAFKA_STORAGE_ERROR"], log_dir=path)
        return DescribeLogDirsResult(
            error_code=NONE,
            log_dir=path,
            topics=self._topics(directory, wanted),
            total_bytes=space.total,
            usable_bytes=space.free,
        )

    def _topics(
        self, directory: LogDirectory, wanted: Container[Name] | None
    ) -> tuple[DescribeLogDirsTopic, ...]:
        partitions: defaultdict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
        for replica in sorted(self._replicas, key=name_of):
            if wanted is None or name_of(replica) in wanted:
                partitions[name_of(replica)[0]].extend(self._logs(replica, directory))
        return tuple(
            [
                DescribeLogDirsTopic(name=name, partitions=tuple(found))
                for name, found in partitions.items()
                if found
            ]
        )

    def _logs(
        self, replica: Replica, directory: LogDirectory
    ) -> Iterator[DescribeLogDirsPartition]:
        """Yield the logs of a replica in a directory: its own log, or the copy made by a move."""
        index = replica.metadata.partition
        if replica.directory is directory:
            yield DescribeLogDirsPartition(
                partition_index=index,
                partition_size=replica.log.size_bytes,
                offset_lag=max(replica.high_watermark - replica.log.end_offset, 0),
            )
        move = self._replicas.moves.get(replica)
        if move is not None and move.future is not None and move.target is directory:
            copy = move.future.log
            yield DescribeLogDirsPartition(
                partition_index=index,
                partition_size=copy.size_bytes,
                offset_lag=max(replica.log.end_offset - copy.end_offset, 0),
                is_future_key=True,
            )


def _names(topics: Iterable[DescribableLogDirTopic]) -> set[Name]:
    return {(topic.topic, partition) for topic in topics for partition in topic.partitions}
