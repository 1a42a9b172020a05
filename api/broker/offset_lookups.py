"""ListOffsets: looks up the start and end of a partition, and offsets by time.

Source: KIP-79 (by time), KIP-734 (greatest time), KIP-405 and KIP-1023 (storage tiers; here there
is only the local one), KIP-207 (a new leader that does not know its high watermark yet).
"""

import asyncio
from collections import Counter

from api.broker.batch_places import TimedOffset
from api.broker.fencing import Fence
from api.broker.replica import Replica
from api.kafka.errors import code_of
from api.kafka.fields import Response
from api.kafka.large_requests import Turns
from api.kafka.messages.records_io import (
    DEBUGGING,
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    GREATEST_TIMESTAMP,
    LATEST,
    LATEST_TIERED,
    NOT_A_REPLICA,
    ListedOffset,
    ListedTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from records.errors import CorruptLogError, RequestError

_SINCE = {
    LATEST: 1,
    EARLIEST: 1,
    GREATEST_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""First request version of each special timestamp; other negative timestamps are invalid."""

_OFFSET_NOT_AVAILABLE_SINCE = 5

_NOTHING = -1
"""An absent offset, timestamp or epoch in an answer."""

_NO_OFFSET = TimedOffset(_NOTHING, _NOTHING, _NOTHING)


class OffsetLookups:
    """Answers ListOffsets for the replicas of one node."""

    def __init__(self) -> None:
        # A lookup may expand a compressed batch; one at a time bounds the memory.
        self._one_at_a_time = asyncio.Lock()

    async def list_offsets(
        self, request: ListOffsetsRequest, fence: Fence, version: int
    ) -> Response:
        """Return the offsets that a ListOffsets request of this version looks up."""
        turns = Turns()
        topics = []
        for topic in request.topics:
            counts = Counter([partition.partition_index for partition in topic.partitions])
            partitions = []
            for requested in topic.partitions:
                partitions.append(
                    _refused(requested, "INVALID_REQUEST")
                    if counts[requested.partition_index] > 1
                    else await self._listed(fence, topic, requested, request.replica_id, version)
                )
                await turns.item()
            topics.append(
                ListedTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions))
            )
        return ListOffsetsResponse(topics=tuple(topics))

    async def _listed(
        self,
        fence: Fence,
        topic: ListOffsetsTopic,
        partition: ListOffsetsPartition,
        replica_id: int,
        version: int,
    ) -> ListedOffset:
        if partition.timestamp < 0 and version < _SINCE.get(partition.timestamp, version + 1):
            return _refused(partition, "UNSUPPORTED_VERSION")
        try:
            replica = fence.replica(topic.name, topic.topic_id, partition.partition_index)
            fence.check_readable(topic.name, partition.partition_index)
            if replica_id != DEBUGGING:
                replica.check_leader(partition.current_leader_epoch)
            found = await self._found(
                replica, partition.timestamp, is_client=replica_id == NOT_A_REPLICA
            )
        except RequestError as error:
            if error.code == "OFFSET_NOT_AVAILABLE" and version < _OFFSET_NOT_AVAILABLE_SINCE:
                return _refused(partition, "LEADER_NOT_AVAILABLE")
            return _refused(partition, error.code)
        except CorruptLogError:
            return _refused(partition, "CORRUPT_MESSAGE")
        except OSError:
            return _refused(partition, "KAFKA_STORAGE_ERROR")
        return ListedOffset(
            partition_index=partition.partition_index,
            timestamp=found.timestamp,
            offset=found.offset,
            leader_epoch=found.leader_epoch,
        )

    async def _found(self, replica: Replica, timestamp: int, *, is_client: bool) -> TimedOffset:
        """Return the offset for a timestamp or a special timestamp.

        Args:
            is_client: True to look only below the high watermark, False to look up to the log's
                end.

        Raises:
            RequestError: OFFSET_NOT_AVAILABLE, a new leader does not know its high watermark yet.
            CorruptLogError: a batch cannot be decompressed.
            OSError: the disk failed.
        """
        end = replica.high_watermark if is_client else replica.log.end_offset
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            epoch = replica.log.first_epoch
            start = replica.log.start_offset
            return TimedOffset(start, _NOTHING, _NOTHING if epoch is None else epoch)
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return _NO_OFFSET
        if timestamp == LATEST:
            _check_known(replica, is_client=is_client)
            return TimedOffset(end, _NOTHING, replica.leader_epoch)
        found = await self._looked_up(replica, timestamp, end)
        if found is None:
            # A record not found below our high watermark may be between it and the true one.
            _check_known(replica, is_client=is_client)
            return _NO_OFFSET
        return found

    async def _looked_up(self, replica: Replica, timestamp: int, end: int) -> TimedOffset | None:
        async with self._one_at_a_time:
            if timestamp == GREATEST_TIMESTAMP:
                return await replica.disk.run(replica.log.greatest_timestamp, up_to=end)
            return await replica.disk.run(replica.log.first_at, timestamp, up_to=end)


def _check_known(replica: Replica, *, is_client: bool) -> None:
    if is_client and not replica.has_caught_up_with_epoch:
        raise RequestError(
            "OFFSET_NOT_AVAILABLE",
            "the leader is new and does not know yet how far clients may read; try again",
        )


def _refused(partition: ListOffsetsPartition, name: str) -> ListedOffset:
    return ListedOffset(partition_index=partition.partition_index, error_code=code_of(name))
