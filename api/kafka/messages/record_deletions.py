"""Client to leader: delete records from the start of a partition.

Source: KIP-107.
"""

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response

HIGH_WATERMARK = -1
"""Special offset: delete everything that consumers may read."""

INVALID_LOW_WATERMARK = -1


class DeleteRecordsPartition(Message, frozen=True, kw_only=True):
    """A partition and the offset below which to delete its records."""

    partition_index: Int32
    offset: Int64


class DeleteRecordsTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...]


class DeleteRecordsRequest(Request, frozen=True, kw_only=True):
    """Delete records; wait until the live replicas have deleted them, at most `timeout_ms`."""

    topics: tuple[DeleteRecordsTopic, ...]
    timeout_ms: Int32


class DeleteRecordsPartitionResult(Message, frozen=True, kw_only=True):
    """The lowest log start offset of the live replicas, or an error."""

    partition_index: Int32
    low_watermark: Int64 = INVALID_LOW_WATERMARK
    error_code: Int16 = 0


class DeleteRecordsTopicResult(Message, frozen=True, kw_only=True):
    """Results of one topic."""

    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]


class DeleteRecordsResponse(Response, frozen=True, kw_only=True):
    """Results of all topics."""

    throttle_time_ms: Int32 = 0
    topics: tuple[DeleteRecordsTopicResult, ...] = ()
