"""DescribeTopicPartitions messages: topics and partitions, in pages. Source: KIP-966."""

from api.kafka.fields import Int16, Int32, Message, Request, Response
from api.kafka.messages.metadata import OPERATIONS_UNKNOWN
from records.base import Uuid


class AskedTopic(Message, frozen=True, kw_only=True):
    """A topic to describe."""

    name: str


class PartitionCursor(Message, frozen=True, kw_only=True):
    """Cursor of a page: the topic and partition with which the page begins."""

    topic_name: str
    partition_index: Int32


class DescribeTopicPartitionsRequest(Request, frozen=True, kw_only=True):
    """Describe topics from `cursor` on; an empty list means all topics."""

    topics: tuple[AskedTopic, ...]
    response_partition_limit: Int32 = 2000
    cursor: PartitionCursor | None = None


class DescribedPartition(Message, frozen=True, kw_only=True):
    """A partition's state: leader, replicas, ISR and ELR."""

    error_code: Int16 = 0
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = -1
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]
    eligible_leader_replicas: tuple[Int32, ...] | None = None
    last_known_elr: tuple[Int32, ...] | None = None
    offline_replicas: tuple[Int32, ...]


class DescribedTopic(Message, frozen=True, kw_only=True):
    """A topic's id, name and partitions, or an error."""

    error_code: Int16 = 0
    name: str | None
    topic_id: Uuid
    is_internal: bool = False
    partitions: tuple[DescribedPartition, ...]
    topic_authorized_operations: Int32 = OPERATIONS_UNKNOWN


class DescribeTopicPartitionsResponse(Response, frozen=True, kw_only=True):
    """A page of topics, and the cursor of the next page."""

    throttle_time_ms: Int32 = 0
    topics: tuple[DescribedTopic, ...] = ()
    next_cursor: PartitionCursor | None = None
