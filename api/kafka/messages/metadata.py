"""Metadata messages: brokers, topics, and the leaders of partitions.

Topic ids exist since version 10. The mode of a partition is not in Kafka; it is a tagged field that
is left out for READ_WRITE.

Source: KIP-516 (topic ids), KIP-694 (modes), KIP-430 (authorized operations).
"""

from typing import Annotated

from api.kafka.fields import (
    KNOWS_MODES_TAG,
    MODE_TAG,
    Int8,
    Int16,
    Int32,
    Message,
    Request,
    Response,
    since,
    tagged,
)
from records.base import ZERO_UUID, Uuid

OPERATIONS_UNKNOWN = -(1 << 31)
"""Authorized operations if they were not requested."""


class MetadataRequestTopic(Message, frozen=True, kw_only=True):
    """A requested topic, by name or by id."""

    topic_id: Annotated[Uuid, since(10)] = ZERO_UUID
    name: str | None


class MetadataRequest(Request, frozen=True, kw_only=True):
    """Request the metadata of some topics; null (in version 0 an empty list) means all topics."""

    topics: tuple[MetadataRequestTopic, ...] | None = None
    allow_auto_topic_creation: Annotated[bool, since(4)] = True
    include_cluster_authorized_operations: Annotated[bool, since(8, 10)] = False
    include_topic_authorized_operations: Annotated[bool, since(8)] = False
    # The client evaluates modes, so it may see partitions that take no writes.
    knows_modes: Annotated[bool, tagged(KNOWS_MODES_TAG, 9)] = False


class MetadataBroker(Message, frozen=True, kw_only=True):
    """A broker's id, address and rack."""

    node_id: Int32
    host: str
    port: Int32
    rack: Annotated[str | None, since(1)] = None


class MetadataPartition(Message, frozen=True, kw_only=True):
    """A partition's state, or an error; `mode` has the same codes as in the metadata image."""

    error_code: Int16 = 0
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Annotated[Int32, since(7)] = -1
    replica_nodes: tuple[Int32, ...] = ()
    isr_nodes: tuple[Int32, ...] = ()
    offline_replicas: Annotated[tuple[Int32, ...], since(5)] = ()
    mode: Annotated[Int8, tagged(MODE_TAG, 9)] = 0


class MetadataTopic(Message, frozen=True, kw_only=True):
    """A topic's id, name and partitions, or an error."""

    error_code: Int16 = 0
    name: str | None
    topic_id: Annotated[Uuid, since(10)] = ZERO_UUID
    is_internal: Annotated[bool, since(1)] = False
    partitions: tuple[MetadataPartition, ...] = ()
    topic_authorized_operations: Annotated[Int32, since(8)] = OPERATIONS_UNKNOWN


class MetadataResponse(Response, frozen=True, kw_only=True):
    """The brokers and the requested topics."""

    throttle_time_ms: Annotated[Int32, since(3)] = 0
    brokers: tuple[MetadataBroker, ...] = ()
    cluster_id: Annotated[str | None, since(2)] = None
    controller_id: Annotated[Int32, since(1)] = -1
    topics: tuple[MetadataTopic, ...] = ()
    cluster_authorized_operations: Annotated[Int32, since(8, 10)] = OPERATIONS_UNKNOWN
    error_code: Annotated[Int16, since(13)] = 0
