"""DeleteRecords: moves the start of a partition's log, and waits until live followers did the same.

The leader deletes immediately, each follower with its next fetch. The low watermark in the response
is the lowest start offset of the live replicas' logs.

Source: KIP-107.
"""

import asyncio
from collections.abc import Callable

from api.broker.fencing import Fence
from api.broker.replica import ANY_EPOCH, Replica
from api.kafka.errors import CODES, NONE, code_for
from api.kafka.fields import Response
from api.kafka.large_requests import Turns
from api.kafka.messages.record_deletions import (
    HIGH_WATERMARK,
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from records.base import ZERO_UUID
from records.errors import RequestError

_WAIT_MS_MAX = 60_000

IsLive = Callable[[int], bool]


async def delete_records(request: DeleteRecordsRequest, fence: Fence, is_live: IsLive) -> Response:
    """Delete records as requested, in all partitions concurrently."""
    wait_s = min(max(request.timeout_ms, 0), _WAIT_MS_MAX) / 1_000
    deadline = asyncio.get_running_loop().time() + wait_s
    turns = Turns()
    topics = []
    async with asyncio.TaskGroup() as group:
        for topic in request.topics:
            tasks = []
            for requested in topic.partitions:
                deleting = _deleted(fence, topic.name, requested, is_live, deadline)
                tasks.append(group.create_task(deleting))
                await turns.item()
            topics.append((topic.name, tasks))
    return DeleteRecordsResponse(
        topics=tuple(
            [
                DeleteRecordsTopicResult(
                    name=name, partitions=tuple([task.result() for task in tasks])
                )
                for name, tasks in topics
            ]
        )
    )


async def _deleted(
    fence: Fence,
    name: str,
    requested: DeleteRecordsPartition,
    is_live: IsLive,
    deadline: float,
) -> DeleteRecordsPartitionResult:
    index = requested.partition_index
    try:
        replica = fence.replica(name, ZERO_UUID, index)
        fence.check_readable(name, index)
        leader_epoch = replica.check_leader(ANY_EPOCH).leader_epoch
        offset = await _delete(replica, requested.offset, leader_epoch)
        await _wait(replica, offset, leader_epoch, is_live, deadline)
    except RequestError as error:
        return DeleteRecordsPartitionResult(partition_index=index, error_code=code_for(error))
    except OSError:
        code = CODES["KAFKA_STORAGE_ERROR"]
        return DeleteRecordsPartitionResult(partition_index=index, error_code=code)
    low_watermark = replica.low_watermark(is_live)
    return DeleteRecordsPartitionResult(
        partition_index=index,
        low_watermark=low_watermark,
        error_code=NONE if low_watermark >= offset else CODES["REQUEST_TIMED_OUT"],
    )


async def _delete(replica: Replica, requested: int, leader_epoch: int) -> int:
    """Move the start of the leader's log to the requested offset, and return the new start.

    Args:
        requested: The requested offset; HIGH_WATERMARK stands for the high watermark.

    Raises:
        RequestError: OFFSET_OUT_OF_RANGE, LEADER_NOT_AVAILABLE or NOT_LEADER_OR_FOLLOWER.
        OSError: the disk failed.
    """
    async with replica.order:
        _check_epoch(replica, leader_epoch)
        high_watermark = replica.high_watermark
        offset = high_watermark if requested == HIGH_WATERMARK else requested
        if offset >= high_watermark and not replica.has_caught_up_with_epoch:
            raise RequestError(
                "LEADER_NOT_AVAILABLE",
                "the leader is new and does not know yet what is committed; try again",
            )
        if not 0 <= offset <= high_watermark:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"offset {offset} is above the high watermark, {high_watermark}",
            )
        await replica.disk.run(replica.log.delete_before, offset)
        replica.wake()
        return offset


async def _wait(
    replica: Replica, offset: int, leader_epoch: int, is_live: IsLive, deadline: float
) -> None:
    """Wait until the logs of all live replicas start at `offset` or later, or until the deadline.

    Raises:
        RequestError: NOT_LEADER_OR_FOLLOWER, the leader has changed.
    """
    try:
        async with asyncio.timeout_at(deadline):
            while replica.low_watermark(is_live) < offset:
                await replica.moved()
                _check_epoch(replica, leader_epoch)
    except TimeoutError:
        pass


def _check_epoch(replica: Replica, leader_epoch: int) -> None:
    if replica.leader_epoch != leader_epoch or not replica.is_leader:
        name, partition = replica.metadata.name, replica.metadata.partition
        raise RequestError(
            "NOT_LEADER_OR_FOLLOWER",
            f"this broker no longer leads {name}-{partition} in epoch {leader_epoch}; refresh the "
            "metadata and retry",
        )
