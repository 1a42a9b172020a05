"""Requests of clients and followers to leaders: Produce, Fetch, and offset lookups.

In versions whose topics have names, a tagged field holds the topic id, as in the early proposal for
topic ids; clients that do not know the field leave it out. Of Kafka's optional tagged fields a
Fetch response has those with which a controller answers readers of the metadata log; brokers leave
them out.

Source: KIP-98 (produce, fetch), KIP-101 and KIP-320 (leader epochs), KIP-516 (topic ids), KIP-903
(the replica's state), KIP-227 (fetch sessions, which are declined), KIP-595 (diverging epochs, the
current leader), KIP-630 (snapshots), KIP-853 (directories, the leader's address), KIP-1166 (the
reader's high watermark).
"""

from typing import Annotated

from api.kafka.fields import (
    TOPIC_ID_TAG,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Request,
    Response,
    since,
    tagged,
    until,
)
from records.base import ZERO_UUID, Uuid

NOT_A_REPLICA = -1
"""Replica id of a client."""

DEBUGGING = -2
"""Replica id of a tool that may read from any replica."""

LATEST = -1
EARLIEST = -2
"""Special timestamp: start of a partition; LATEST is its end."""

GREATEST_TIMESTAMP = -3
"""Special timestamp: the record with the greatest timestamp."""

EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
"""Special timestamps: local log start, tiered storage end, first offset not uploaded yet."""


NAMES_UNTIL = 12
"""The last version of Produce and Fetch in which topics have names."""

NO_HIGH_WATERMARK = (1 << 63) - 1
"""High watermark in a Fetch request whose sender does not wait for the watermark to advance."""


class ProducedPartition(Message, frozen=True, kw_only=True):
    """Record batches to write to one partition."""

    index: Int32
    records: bytes | None


class ProducedTopic(Message, frozen=True, kw_only=True):
    """Record batches to write to the partitions of one topic."""

    name: Annotated[str, until(NAMES_UNTIL)] = ""
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 9, 12), since(13)] = ZERO_UUID
    partition_data: tuple[ProducedPartition, ...]


class ProduceRequest(Request, frozen=True, kw_only=True):
    """Write record batches.

    `acks` is 0 (no response), 1 (respond once the leader has the batches) or -1 (respond once all
    in-sync replicas have the batches).
    """

    transactional_id: Annotated[str | None, since(3)] = None
    acks: Int16
    timeout_ms: Int32
    topic_data: tuple[ProducedTopic, ...]


class BatchError(Message, frozen=True, kw_only=True):
    """The reason why one record of a batch was rejected."""

    batch_index: Int32
    batch_index_error_message: str | None = None


class ProducedPartitionResult(Message, frozen=True, kw_only=True):
    """The offset of the first record written to a partition, or an error."""

    index: Int32
    error_code: Int16 = 0
    base_offset: Int64 = -1
    log_append_time_ms: Annotated[Int64, since(2)] = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    record_errors: Annotated[tuple[BatchError, ...], since(8)] = ()
    error_message: Annotated[str | None, since(8)] = None


class ProducedTopicResult(Message, frozen=True, kw_only=True):
    """The results of Produce for the partitions of one topic."""

    name: Annotated[str, until(NAMES_UNTIL)] = ""
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 9, 12), since(13)] = ZERO_UUID
    partition_responses: tuple[ProducedPartitionResult, ...]


class ProduceResponse(Response, frozen=True, kw_only=True):
    """The results of Produce for all topics."""

    responses: tuple[ProducedTopicResult, ...] = ()
    throttle_time_ms: Annotated[Int32, since(1)] = 0


class FetchPartition(Message, frozen=True, kw_only=True):
    """A partition and the offset from which to read."""

    partition: Int32
    current_leader_epoch: Annotated[Int32, since(9)] = -1
    fetch_offset: Int64
    last_fetched_epoch: Annotated[Int32, since(12)] = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    partition_max_bytes: Int32
    replica_directory_id: Annotated[Uuid, tagged(0, 17)] = ZERO_UUID
    high_watermark: Annotated[Int64, tagged(1, 18)] = NO_HIGH_WATERMARK


class FetchTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic to read from."""

    topic: Annotated[str, until(NAMES_UNTIL)] = ""
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 12, 12), since(13)] = ZERO_UUID
    partitions: tuple[FetchPartition, ...]


class ForgottenTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic to remove from a fetch session."""

    topic: Annotated[str, until(NAMES_UNTIL)] = ""
    topic_id: Annotated[Uuid, since(13)] = ZERO_UUID
    partitions: tuple[Int32, ...]


class FetchingReplica(Message, frozen=True, kw_only=True):
    """The id and broker epoch of the follower that fetches; both are -1 if a client fetches."""

    replica_id: Int32 = NOT_A_REPLICA
    replica_epoch: Int64 = -1


class FetchRequest(Request, frozen=True, kw_only=True):
    """Read record batches; the leader waits up to `max_wait_ms` for at least `min_bytes`."""

    replica_id: Annotated[Int32, until(14)] = NOT_A_REPLICA
    replica_state: Annotated[FetchingReplica, tagged(1, 15)] = FetchingReplica()
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Annotated[Int32, since(3)] = (1 << 31) - 1
    isolation_level: Annotated[Int8, since(4)] = 0
    session_id: Annotated[Int32, since(7)] = 0
    session_epoch: Annotated[Int32, since(7)] = -1
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: Annotated[tuple[ForgottenTopic, ...], since(7)] = ()
    rack_id: Annotated[str, since(11)] = ""
    cluster_id: Annotated[str | None, tagged(0, 12)] = None

    @property
    def follower(self) -> int:
        """Id of the follower that fetches, from either of two fields; NOT_A_REPLICA if a client."""
        return max(self.replica_id, self.replica_state.replica_id)


class AbortedTransaction(Message, frozen=True, kw_only=True):
    """An aborted transaction, whose records a consumer must skip."""

    producer_id: Int64
    first_offset: Int64


class EpochEndOffset(Message, frozen=True, kw_only=True):
    """A leader epoch, and the offset after its last record; -1: none."""

    epoch: Int32 = -1
    end_offset: Int64 = -1


class LeaderIdAndEpoch(Message, frozen=True, kw_only=True):
    """The leader that a node knows, and its epoch; -1: none."""

    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class SnapshotId(Message, frozen=True, kw_only=True):
    """A snapshot: the offset that it ends at, exclusive, and the epoch of the record before it."""

    end_offset: Int64 = -1
    epoch: Int32 = -1


class FetchedPartition(Message, frozen=True, kw_only=True):
    """Batches of one partition, from the batch with the requested offset on; or an error."""

    partition_index: Int32
    error_code: Int16 = 0
    high_watermark: Int64 = -1
    last_stable_offset: Annotated[Int64, since(4)] = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    diverging_epoch: Annotated[EpochEndOffset, tagged(0, 12)] = EpochEndOffset()
    current_leader: Annotated[LeaderIdAndEpoch, tagged(1, 12)] = LeaderIdAndEpoch()
    snapshot_id: Annotated[SnapshotId, tagged(2, 12)] = SnapshotId()
    aborted_transactions: Annotated[tuple[AbortedTransaction, ...] | None, since(4)] = None
    preferred_read_replica: Annotated[Int32, since(11)] = -1
    records: bytes | None = b""


class FetchedTopic(Message, frozen=True, kw_only=True):
    """The fetched partitions of one topic."""

    topic: Annotated[str, until(NAMES_UNTIL)] = ""
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 12, 12), since(13)] = ZERO_UUID
    partitions: tuple[FetchedPartition, ...]


class NodeEndpoint(Message, frozen=True, kw_only=True):
    """The address of a node that a response names as leader."""

    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None


class FetchResponse(Response, frozen=True, kw_only=True):
    """The fetched batches; a session id of 0 means that there is no fetch session."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Annotated[Int16, since(7)] = 0
    session_id: Annotated[Int32, since(7)] = 0
    responses: tuple[FetchedTopic, ...] = ()
    node_endpoints: Annotated[tuple[NodeEndpoint, ...], tagged(0, 16)] = ()


class ListOffsetsPartition(Message, frozen=True, kw_only=True):
    """A partition, and the time (ms since 1970) or special timestamp to look up."""

    partition_index: Int32
    current_leader_epoch: Annotated[Int32, since(4)] = -1
    timestamp: Int64


class ListOffsetsTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic in a ListOffsets request."""

    name: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 6)] = ZERO_UUID
    partitions: tuple[ListOffsetsPartition, ...]


class ListOffsetsRequest(Request, frozen=True, kw_only=True):
    """Look up offsets by time: in each partition, the first record at or after the given time."""

    replica_id: Int32 = NOT_A_REPLICA
    isolation_level: Annotated[Int8, since(2)] = 0
    topics: tuple[ListOffsetsTopic, ...]
    timeout_ms: Annotated[Int32, since(10)] = 0


class ListedOffset(Message, frozen=True, kw_only=True):
    """The offset found in one partition (-1 if no record matches), or an error."""

    partition_index: Int32
    error_code: Int16 = 0
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Annotated[Int32, since(4)] = -1


class ListedTopic(Message, frozen=True, kw_only=True):
    """The offsets found in the partitions of one topic."""

    name: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 6)] = ZERO_UUID
    partitions: tuple[ListedOffset, ...]


class ListOffsetsResponse(Response, frozen=True, kw_only=True):
    """The offsets found in the partitions of all topics."""

    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: tuple[ListedTopic, ...] = ()


class EpochPartition(Message, frozen=True, kw_only=True):
    """A partition, and the leader epoch whose end offset to look up."""

    partition: Int32
    current_leader_epoch: Annotated[Int32, since(2)] = -1
    leader_epoch: Int32


class EpochTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic in an OffsetForLeaderEpoch request."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 4)] = ZERO_UUID
    partitions: tuple[EpochPartition, ...]


class OffsetForLeaderEpochRequest(Request, frozen=True, kw_only=True):
    """Look up end offsets of leader epochs, to find where a follower's log diverges."""

    replica_id: Annotated[Int32, since(3)] = -2
    topics: tuple[EpochTopic, ...]


class EpochEnd(Message, frozen=True, kw_only=True):
    """The highest leader epoch at or below the requested one, and its end offset (exclusive)."""

    error_code: Int16 = 0
    partition: Int32
    leader_epoch: Annotated[Int32, since(1)] = -1
    end_offset: Int64 = -1


class EpochTopicResult(Message, frozen=True, kw_only=True):
    """The ends of leader epochs in the partitions of one topic."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG, 4)] = ZERO_UUID
    partitions: tuple[EpochEnd, ...]


class OffsetForLeaderEpochResponse(Response, frozen=True, kw_only=True):
    """The ends of leader epochs in the partitions of all topics."""

    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: tuple[EpochTopicResult, ...] = ()
