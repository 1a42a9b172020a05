"""Produce, Fetch, ListOffsets and OffsetsForLeaderEpoch, as a broker answers them.

Fetch sessions are declined (session id 0), transactions and quotas are not known, and the ISR's
minimal size is not enforced: that is a matter of configs, which this broker does not follow.
"""

import asyncio

from api.broker.batches import produced_batches
from api.broker.fencing import Fence
from api.broker.replica import Replica
from api.broker.replicas import now_ms
from api.broker.written import Written, settled
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.errors import CODES, code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.listener import Asker, Handler
from api.kafka.messages.records_io import (
    EARLIEST,
    LATEST,
    NOT_A_REPLICA,
    EpochEnd,
    EpochPartition,
    EpochTopic,
    EpochTopicResult,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ListedOffset,
    ListedTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducedPartition,
    ProducedPartitionResult,
    ProducedTopic,
    ProducedTopicResult,
    ProduceRequest,
    ProduceResponse,
)
from records.errors import RequestError

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
_WAIT_MS_MAX = 60_000

FETCH_SIZE_BYTES_MAX = 55 * 1024 * 1024
"""Kafka's default of `fetch.max.bytes`; a client that asks for more gets this."""


class RecordsRequests:
    """Answers for the replicas of one node."""

    def __init__(self, fence: Fence) -> None:
        self._fence = fence

    def handlers(self) -> dict[Api, Handler]:
        """Return what is answered, for a listener."""
        return {
            apis.PRODUCE: self.produce,
            apis.FETCH: self.fetch,
            apis.LIST_OFFSETS: self.list_offsets,
            apis.OFFSET_FOR_LEADER_EPOCH: self.offsets_for_leader_epoch,
        }

    async def produce(self, frame: RequestFrame, _: Asker) -> Response | None:
        """Write batches, and answer when as many have them as the client wants."""
        request = frame.body
        assert isinstance(request, ProduceRequest)
        # Written before anything is awaited, so that a connection's batches keep their order.
        writes = [
            (
                topic,
                [self._write(topic, partition, request.acks) for partition in topic.partition_data],
            )
            for topic in request.topic_data
        ]
        deadline = asyncio.get_running_loop().time() + min(request.timeout_ms, _WAIT_MS_MAX) / 1_000
        responses = []
        for topic, waits in writes:
            results = [await settled(wait, deadline) for wait in waits]
            responses.append(
                ProducedTopicResult(
                    name=topic.name, topic_id=topic.topic_id, partition_responses=tuple(results)
                )
            )
        return None if request.acks == ACKS_NONE else ProduceResponse(responses=tuple(responses))

    async def fetch(self, frame: RequestFrame, _: Asker) -> Response:
        """Read batches; wait for some if there are too few."""
        request = frame.body
        assert isinstance(request, FetchRequest)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(max(request.max_wait_ms, 0), _WAIT_MS_MAX) / 1_000
        while True:
            moved = [asyncio.ensure_future(r.moved()) for r in self._replicas_of(request)]
            try:
                response = self._read(request)
                left = deadline - loop.time()
                if left <= 0 or not moved or _is_worth(response, request.min_bytes):
                    return response
                await asyncio.wait(moved, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in moved:
                    task.cancel()

    async def list_offsets(self, frame: RequestFrame, _: Asker) -> Response:
        """Look offsets up by time."""
        request = frame.body
        assert isinstance(request, ListOffsetsRequest)
        return ListOffsetsResponse(
            topics=tuple(
                [
                    ListedTopic(
                        name=topic.name,
                        topic_id=topic.topic_id,
                        partitions=tuple(
                            [self._listed(topic, p, request.replica_id) for p in topic.partitions]
                        ),
                    )
                    for topic in request.topics
                ]
            )
        )

    async def offsets_for_leader_epoch(self, frame: RequestFrame, _: Asker) -> Response:
        """Say where leader epochs ended."""
        request = frame.body
        assert isinstance(request, OffsetForLeaderEpochRequest)
        return OffsetForLeaderEpochResponse(
            topics=tuple(
                [
                    EpochTopicResult(
                        topic=topic.topic,
                        topic_id=topic.topic_id,
                        partitions=tuple([self._epoch_end(topic, p) for p in topic.partitions]),
                    )
                    for topic in request.topics
                ]
            )
        )

    def _write(
        self, topic: ProducedTopic, produced: ProducedPartition, acks: int
    ) -> ProducedPartitionResult | Written:
        try:
            if acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
                raise RequestError("INVALID_REQUIRED_ACKS", f"acks {acks} is none of -1, 0 and 1")
            replica = self._fence.replica(topic.name, topic.topic_id, produced.index)
            self._fence.check_writable(topic.name, produced.index)
            replica.check_leader(-1)
            base, end = replica.append(produced_batches(produced.records or b""))
        except RequestError as error:
            return ProducedPartitionResult(
                index=produced.index, error_code=code_for(error), error_message=str(error)
            )
        except OSError as error:
            return ProducedPartitionResult(
                index=produced.index,
                error_code=CODES["KAFKA_STORAGE_ERROR"],
                error_message=error.strerror,
            )
        result = ProducedPartitionResult(index=produced.index, base_offset=base, log_start_offset=0)
        if acks != ACKS_ALL:
            return result
        return Written(replica, end, replica.leader_epoch, result)

    def _replicas_of(self, request: FetchRequest) -> list[Replica]:
        found = []
        for topic in request.topics:
            for partition in topic.partitions:
                try:
                    replica = self._fence.replica(topic.topic, topic.topic_id, partition.partition)
                except RequestError:
                    continue
                found.append(replica)
        return found

    def _read(self, request: FetchRequest) -> FetchResponse:
        left = min(request.max_bytes, FETCH_SIZE_BYTES_MAX)
        topics = []
        for topic in request.topics:
            partitions = []
            for partition in topic.partitions:
                fetched = self._fetched(topic, partition, request.replica_id, left)
                left -= len(fetched.records or b"")
                partitions.append(fetched)
            topics.append(
                FetchedTopic(
                    topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(partitions)
                )
            )
        return FetchResponse(responses=tuple(topics))

    def _fetched(
        self, topic: FetchTopic, wanted: FetchPartition, replica_id: int, left: int
    ) -> FetchedPartition:
        try:
            replica = self._fence.replica(topic.topic, topic.topic_id, wanted.partition)
            self._fence.check_readable(topic.topic, wanted.partition)
            replica.check_leader(wanted.current_leader_epoch)
            is_client = replica_id == NOT_A_REPLICA
            # A new leader may not know yet how far clients were allowed to read: it has nothing to
            # give from there on, but the offset is a good one.
            end = replica.log.end_offset
            if not 0 <= wanted.fetch_offset <= end:
                raise RequestError(
                    "OFFSET_OUT_OF_RANGE", f"offset {wanted.fetch_offset}; 0 to {end} are here"
                )
            if is_client:
                end = replica.high_watermark
            else:
                replica.fetched_by(replica_id, wanted.fetch_offset, now_ms())
            records = b""
            if left > 0:
                size = min(wanted.partition_max_bytes, left)
                records = replica.log.read(wanted.fetch_offset, up_to=end, size_bytes_max=size)
        except RequestError as error:
            return FetchedPartition(partition_index=wanted.partition, error_code=code_for(error))
        except OSError:
            code = CODES["KAFKA_STORAGE_ERROR"]
            return FetchedPartition(partition_index=wanted.partition, error_code=code)
        return FetchedPartition(
            partition_index=wanted.partition,
            high_watermark=replica.high_watermark,
            last_stable_offset=replica.high_watermark,
            log_start_offset=0,
            records=records,
        )

    def _listed(
        self, topic: ListOffsetsTopic, asked: ListOffsetsPartition, replica_id: int
    ) -> ListedOffset:
        try:
            replica = self._fence.replica(topic.name, topic.topic_id, asked.partition_index)
            self._fence.check_readable(topic.name, asked.partition_index)
            replica.check_leader(asked.current_leader_epoch)
        except RequestError as error:
            return ListedOffset(partition_index=asked.partition_index, error_code=code_for(error))
        is_client = replica_id == NOT_A_REPLICA
        end = replica.high_watermark if is_client else replica.log.end_offset
        offset, timestamp = {LATEST: (end, -1), EARLIEST: (0, -1)}.get(asked.timestamp) or _at(
            replica, asked.timestamp, end
        )
        return ListedOffset(
            partition_index=asked.partition_index,
            timestamp=timestamp,
            offset=offset,
            leader_epoch=replica.leader_epoch,
        )

    def _epoch_end(self, topic: EpochTopic, asked: EpochPartition) -> EpochEnd:
        try:
            replica = self._fence.replica(topic.topic, topic.topic_id, asked.partition)
            self._fence.check_readable(topic.topic, asked.partition)
            replica.check_leader(asked.current_leader_epoch)
        except RequestError as error:
            return EpochEnd(partition=asked.partition, error_code=code_for(error))
        found = replica.log.epoch_end(asked.leader_epoch)
        if found is None:
            return EpochEnd(partition=asked.partition)
        return EpochEnd(
            partition=asked.partition,
            leader_epoch=found.leader_epoch,
            end_offset=found.end_offset,
        )


def _at(replica: Replica, timestamp: int, end: int) -> tuple[int, int]:
    found = replica.log.offset_at(timestamp)
    return (-1, -1) if found is None or found[0] >= end else found


def _is_worth(response: FetchResponse, min_bytes: int) -> bool:
    """Return whether a fetch need not wait: there is enough, or something to tell."""
    partitions = [p for topic in response.responses for p in topic.partitions]
    if any(partition.error_code for partition in partitions):
        return True
    return sum(len(partition.records or b"") for partition in partitions) >= min_bytes
