"""DescribeLogDirs: which replicas lie in which log directory, and how large they are.

Source: KIP-113, KIP-827.
"""

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence

from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.replica import Replica
from api.broker.replica_registry import Name, name_of
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.errors import CODES, NONE, code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.listener import Handler
from api.kafka.messages.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.authorization.caller import Caller
from records.errors import RequestError


class LogDirsRequests:
    """Describes the log directories of one broker."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        replicas: Iterable[Replica],
        disk: Disk,
        access: Callable[[Caller], Access],
    ) -> None:
        """Answer requests.

        Args:
            access: Returns the current rights of a caller.
        """
        self._directories = directories
        self._replicas = replicas
        self._disk = disk
        self._access = access

    def handlers(self) -> dict[Api, Handler]:
        """Return the handlers, for a listener."""
        return {apis.DESCRIBE_LOG_DIRS: self.describe}

    async def describe(self, frame: RequestFrame, caller: Caller) -> Response:
        """Describe every directory, with the replicas that the request names; needs DESCRIBE."""
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
            name, partition = name_of(replica)
            if replica.directory is directory and (wanted is None or (name, partition) in wanted):
                partitions[name].append(
                    DescribeLogDirsPartition(
                        partition_index=partition,
                        partition_size=replica.log.size_bytes,
                        offset_lag=max(replica.high_watermark - replica.log.end_offset, 0),
                    )
                )
        return tuple(
            [
                DescribeLogDirsTopic(name=name, partitions=tuple(found))
                for name, found in partitions.items()
            ]
        )


def _names(topics: Iterable[DescribableLogDirTopic]) -> set[Name]:
    return {(topic.topic, partition) for topic in topics for partition in topic.partitions}
