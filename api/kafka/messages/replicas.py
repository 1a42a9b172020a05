"""Requests of the controller to a broker: roles of replicas, deletions, and metadata updates.

The layouts are from two proposals: the early one for topic ids, in which ids are tagged fields, and
the one for partition modes. This project's own offset fields are tagged as well.

Source: KIP-516 (LeaderAndIsr with a type, StopReplica), KIP-694 (UpdateMetadata with mode).
"""

from typing import Annotated

from api.kafka.fields import (
    BROKER_CONFIGS_TAG,
    CREATE_OFFSET_TAG,
    METADATA_OFFSET_TAG,
    REQUEST_TYPE_TAG,
    RIGHTS_TAG,
    TOPIC_CONFIGS_TAG,
    TOPIC_ID_TAG,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Request,
    Response,
    tagged,
)
from records.base import ZERO_UUID, Uuid

UNSPECIFIED = 0
INCREMENTAL = 1
FULL = 2
"""Type of a LeaderAndIsr with all partitions of the broker. INCREMENTAL: with some of them;
UNSPECIFIED: from an older sender."""

LEADER_DURING_DELETE = -2
"""Stands for the leader of a partition whose topic is deleted."""


class LeaderAndIsrPartition(Message, frozen=True, kw_only=True):
    """A partition's state, sent to the brokers that have a replica of the partition.

    `create_offset` is the offset of the record that created this incarnation of the partition, -1
    if that offset is no longer known. A partition that is removed and created again keeps its topic
    id and partition id, but gets another `create_offset`.
    """

    partition: Int32
    controller_epoch: Int32
    leader: Int32
    leader_epoch: Int32
    isr: tuple[Int32, ...]
    zk_version: Int32
    replicas: tuple[Int32, ...]
    is_new: bool = False
    create_offset: Annotated[Int64, tagged(CREATE_OFFSET_TAG)] = -1


class LeaderAndIsrTopic(Message, frozen=True, kw_only=True):
    """A topic's partitions; the topic id is zero if the controller does not support topic ids."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition_states: tuple[LeaderAndIsrPartition, ...]


class LiveLeader(Message, frozen=True, kw_only=True):
    """Id and address of a live broker that leads partitions."""

    id: Int32
    host: str
    port: Int32


class BrokerConfig(Message, frozen=True, kw_only=True):
    """A config that the broker uses and its value; not in Kafka.

    `is_static`: the value is from the controller's static configuration, not from the log.
    """

    name: str
    value: str
    is_static: bool = False


class LeaderAndIsrRequest(Request, frozen=True, kw_only=True):
    """Assign roles to the broker's replicas; a request of type FULL lists all of its replicas."""

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64
    type: Annotated[Int8, tagged(REQUEST_TYPE_TAG)] = UNSPECIFIED
    broker_configs: Annotated[tuple[BrokerConfig, ...], tagged(BROKER_CONFIGS_TAG)] = ()
    topic_states: tuple[LeaderAndIsrTopic, ...]
    live_leaders: tuple[LiveLeader, ...] = ()


class ReplicaResult(Message, frozen=True, kw_only=True):
    """Result for the replica of one partition: success or an error."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition: Int32
    error_code: Int16 = 0


class LeaderAndIsrResponse(Response, frozen=True, kw_only=True):
    """The results of LeaderAndIsr for the partitions, or an error."""

    error_code: Int16 = 0
    partitions: tuple[ReplicaResult, ...] = ()


class StoppedTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic whose replicas are to stop."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition_ids: tuple[Int32, ...]


class StopReplicaRequest(Request, frozen=True, kw_only=True):
    """Stop the replicas of partitions; delete them if requested."""

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64
    delete_partitions: bool
    partitions: tuple[StoppedTopic, ...]


class StopReplicaResponse(Response, frozen=True, kw_only=True):
    """The results of StopReplica for the partitions, or an error."""

    error_code: Int16 = 0
    partitions: tuple[ReplicaResult, ...] = ()


class UpdatedPartition(Message, frozen=True, kw_only=True):
    """A partition's state, sent to every broker for Metadata responses."""

    partition_index: Int32
    controller_epoch: Int32
    leader: Int32
    leader_epoch: Int32
    isr: tuple[Int32, ...] = ()
    zk_version: Int32 = 0
    replicas: tuple[Int32, ...] = ()
    offline_replicas: tuple[Int32, ...] = ()
    mode: Int8 = 0


class UpdatedTopic(Message, frozen=True, kw_only=True):
    """A topic with all its partitions.

    `configs` are the configs that brokers apply to new records; one that is left out has its
    built-in default.
    """

    topic_name: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    configs: Annotated[tuple[BrokerConfig, ...], tagged(TOPIC_CONFIGS_TAG)] = ()
    partition_states: tuple[UpdatedPartition, ...]


class UpdatedEndpoint(Message, frozen=True, kw_only=True):
    """Address of a broker's listener."""

    port: Int32
    host: str
    listener: str
    security_protocol: Int16


class LiveBroker(Message, frozen=True, kw_only=True):
    """A broker that clients may connect to."""

    id: Int32
    endpoints: tuple[UpdatedEndpoint, ...]
    rack: str | None = None


class UpdateMetadataRequest(Request, frozen=True, kw_only=True):
    """Changed topics and ACLs, and all live brokers; with type FULL, all topics and ACLs.

    `rights` are the records for the authorizer, encoded as in Kafka's metadata log: ACLs, and the
    level of `metadata.version`.

    For each offset, the controller sends this request last. Once the broker has applied it, the
    broker has applied the log up to `metadata_offset`, inclusive.
    """

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64
    type: Annotated[Int8, tagged(REQUEST_TYPE_TAG)] = UNSPECIFIED
    metadata_offset: Annotated[Int64, tagged(METADATA_OFFSET_TAG)] = -1
    broker_configs: Annotated[tuple[BrokerConfig, ...], tagged(BROKER_CONFIGS_TAG)] = ()
    rights: Annotated[tuple[bytes, ...], tagged(RIGHTS_TAG)] = ()
    topic_states: tuple[UpdatedTopic, ...] = ()
    live_brokers: tuple[LiveBroker, ...] = ()


class UpdateMetadataResponse(Response, frozen=True, kw_only=True):
    """Response to UpdateMetadata: success or an error."""

    error_code: Int16 = 0
