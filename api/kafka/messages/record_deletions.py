"""DeleteRecords messages, sent to leaders: delete records from the start of partitions.

Source: KIP-107.
"""

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response

HIGH_WATERMARK = -1
"""Special offset: delete everything that consumers may read."""

INVALID_LOW_WATERMARK = -1


class DeleteRecordsPartition(Message, frozen=True, kw_only=True):
    """A partition, and the offset below which its records are to be deleted."""

    partition_index: Int32
    offset: Int64


class DeleteRecordsTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic whose records are to be deleted."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...]


class DeleteRecordsRequest(Request, frozen=True, kw_only=True):
    """Delete records, and wait up to `timeout_ms` until the live replicas have deleted them."""

    topics: tuple[DeleteRecordsTopic, ...]
    timeout_ms: Int32


class DeleteRecordsPartitionResult(Message, frozen=True, kw_only=True):
    """The lowest log start offset among the partition's live replicas, or an error."""

    partition_index: Int32
    low_watermark: Int64 = INVALID_LOW_WATERMARK
    error_code: Int16 = 0


class DeleteRecordsTopicResult(Message, frozen=True, kw_only=True):
    """The results of DeleteRecords for the partitions of one topic."""

    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]


class DeleteRecordsResponse(Response, frozen=True, kw_only=True):
    """The results of DeleteRecords for all topics."""

    throttle_time_ms: Int32 = 0
    topics: tuple[DeleteRecordsTopicResult, ...] = ()
