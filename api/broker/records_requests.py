"""Handlers of Produce, Fetch, ListOffsets, DeleteRecords and OffsetForLeaderEpoch on a broker.

Each topic of a request is authorized separately. Clients need WRITE, READ, DESCRIBE or DELETE on
the topic, depending on the request; followers need CLUSTER_ACTION, as in Kafka.

Fetch sessions are declined (session id 0), transactions and quotas are not supported, and
min.insync.replicas is not enforced: this broker does not use that config.
"""

import asyncio
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from api.broker.fencing import AuthorizedFence, Fence, TopicCheck, may, may_replicate
from api.broker.fetches import fetch
from api.broker.offset_lookups import OffsetLookups
from api.broker.pending_writes import PendingWrite, refused
from api.broker.record_deletions import delete_records
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.errors import code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.large_requests import Turns
from api.kafka.messages.record_deletions import DeleteRecordsRequest
from api.kafka.messages.records_io import (
    NOT_A_REPLICA,
    EpochEnd,
    EpochPartition,
    EpochTopic,
    EpochTopicResult,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducedPartition,
    ProducedPartitionResult,
    ProducedTopic,
    ProducedTopicResult,
    ProduceRequest,
    ProduceResponse,
)
from controller.authorization.authorizer import Access, Operation
from controller.authorization.caller import Caller
from records.base import Uuid
from records.errors import RequestError

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
_WAIT_MS_MAX = 60_000

_MAY_WRITE, _MAY_READ, _MAY_DESCRIBE, _MAY_DELETE = map(
    may, (Operation.WRITE, Operation.READ, Operation.DESCRIBE, Operation.DELETE)
)


def _may_compare(access: Access, name: str) -> bool:
    """True if the caller may look up leader epochs: followers, and clients with DESCRIBE."""
    return may_replicate(access, name) or _MAY_DESCRIBE(access, name)


class RecordsRequests:
    """Handles requests about the records of one node's replicas."""

    def __init__(
        self,
        fence: Fence,
        access: Callable[[Caller], Access],
        is_live: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """Create the handlers.

        Args:
            fence: Finds the replicas for the requests.
            access: Returns the current rights of a caller.
            is_live: Returns True if a broker is live; DeleteRecords waits only for live brokers.
        """
        self._fence = fence
        self._access = access
        self._is_live = is_live
        self._lookups = OffsetLookups()

    def handlers(self) -> dict[Api, Handler]:
        """Return a listener's handlers of Produce, Fetch and the other requests about records."""
        return {
            apis.PRODUCE: self.produce,
            apis.FETCH: self.fetch,
            apis.LIST_OFFSETS: self.list_offsets,
            apis.DELETE_RECORDS: self.delete_records,
            apis.OFFSET_FOR_LEADER_EPOCH: self.offsets_for_leader_epoch,
        }

    def _authorized(self, caller: Caller, is_allowed: TopicCheck) -> Fence:
        return AuthorizedFence(self._fence, self._access(caller), is_allowed)

    async def fetch(self, frame: RequestFrame, caller: Caller) -> Response:
        """Read batches; wait up to the deadline while fewer than `min_bytes` are available."""
        request = frame.body
        assert isinstance(request, FetchRequest)
        is_client = request.follower == NOT_A_REPLICA
        fence = self._authorized(caller, _MAY_READ if is_client else may_replicate)
        topics = [
            replace(topic, topic=_name(fence, topic.topic, topic.topic_id))
            for topic in request.topics
        ]
        return await fetch(replace(request, topics=tuple(topics)), fence)

    async def list_offsets(self, frame: RequestFrame, caller: Caller) -> Response:
        """Look up the offsets for timestamps."""
        request = frame.body
        assert isinstance(request, ListOffsetsRequest)
        fence = self._authorized(caller, _MAY_DESCRIBE)
        return await self._lookups.list_offsets(request, fence, frame.version)

    async def delete_records(self, frame: RequestFrame, caller: Caller) -> Response:
        """Delete records from the start of partitions."""
        request = frame.body
        assert isinstance(request, DeleteRecordsRequest)
        fence = self._authorized(caller, _MAY_DELETE)
        return await delete_records(request, fence, self._is_live)

    async def produce(self, frame: RequestFrame, caller: Caller) -> Response | None:
        """Write batches, and respond when as many replicas have them as `acks` requires."""
        request = frame.body
        assert isinstance(request, ProduceRequest)
        fence = self._authorized(caller, _MAY_WRITE)
        # Start all writes before awaiting any, so that a connection's batches keep their order.
        # A request with so many that others have a turn meanwhile is the only one of its
        # connection (`api.broker.dispatch`).
        turns = Turns()
        writes = []
        for topic in _named_topics(fence, request):
            waits = []
            for produced in topic.partition_data:
                waits.append(_write(fence, topic, produced, request.acks))
                await turns.item()
            writes.append((topic, waits))
        deadline = asyncio.get_running_loop().time() + min(request.timeout_ms, _WAIT_MS_MAX) / 1_000
        responses = []
        for topic, waits in writes:
            results = [await _settled(wait, deadline) for wait in waits]
            responses.append(
                ProducedTopicResult(
                    name=topic.name, topic_id=topic.topic_id, partition_responses=tuple(results)
                )
            )
        return None if request.acks == ACKS_NONE else ProduceResponse(responses=tuple(responses))

    async def offsets_for_leader_epoch(self, frame: RequestFrame, caller: Caller) -> Response:
        """Return the end offsets of leader epochs."""
        request = frame.body
        assert isinstance(request, OffsetForLeaderEpochRequest)
        fence = self._authorized(caller, _may_compare)
        turns = Turns()
        topics = []
        for topic in request.topics:
            ends = []
            for partition in topic.partitions:
                ends.append(_epoch_end(fence, topic, partition))
                await turns.item()
            topics.append(
                EpochTopicResult(topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(ends))
            )
        return OffsetForLeaderEpochResponse(topics=tuple(topics))


def _named_topics(fence: Fence, request: ProduceRequest) -> Iterator[ProducedTopic]:
    for topic in request.topic_data:
        yield replace(topic, name=_name(fence, topic.name, topic.topic_id))


def _name(fence: Fence, name: str, topic_id: Uuid) -> str:
    """Return `name`, or the name for `topic_id` if `name` is empty; "" if the id is unknown."""
    return name or fence.topic_name(topic_id) or ""


def _write(
    fence: Fence, topic: ProducedTopic, produced: ProducedPartition, acks: int
) -> ProducedPartitionResult | PendingWrite:
    try:
        if acks not in (ACKS_NONE, ACKS_LEADER, ACKS_ALL):
            raise RequestError("INVALID_REQUIRED_ACKS", f"acks must be -1, 0 or 1, not {acks}")
        replica = fence.replica(topic.name, topic.topic_id, produced.index)
        fence.check_writable(topic.name, produced.index)
        replica.check_leader(-1)
    except RequestError as error:
        return refused(produced.index, error)
    rules = fence.record_rules(topic.name)
    append = replica.append(produced.records or b"", rules)
    return PendingWrite(
        produced.index,
        replica,
        append,
        by_all=acks == ACKS_ALL,
        is_log_append_time=rules.is_log_append_time,
    )


def _epoch_end(fence: Fence, topic: EpochTopic, partition: EpochPartition) -> EpochEnd:
    try:
        replica = fence.replica(topic.topic, topic.topic_id, partition.partition)
        fence.check_readable(topic.topic, partition.partition)
        replica.check_leader(partition.current_leader_epoch)
    except RequestError as error:
        return EpochEnd(partition=partition.partition, error_code=code_for(error))
    found = replica.epoch_end(partition.leader_epoch)
    if found is None:
        return EpochEnd(partition=partition.partition)
    return EpochEnd(
        partition=partition.partition,
        leader_epoch=found.leader_epoch,
        end_offset=found.end_offset,
    )


async def _settled(
    write: ProducedPartitionResult | PendingWrite, deadline: float
) -> ProducedPartitionResult:
    return await write.result(deadline) if isinstance(write, PendingWrite) else write
