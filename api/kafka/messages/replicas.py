"""What the controller tells brokers: the log as it concerns one of them.

The layouts are those of the early proposal for topic ids, with ids as tagged fields, and of the
proposal for partition modes; ours are the offsets, tagged as well.

Source: KIP-516 (LeaderAndIsr with a type, StopReplica), KIP-694 (UpdateMetadata with mode).
"""

from typing import Annotated

from api.kafka.fields import (
    BROKER_CONFIGS_TAG,
    CREATE_OFFSET_TAG,
    METADATA_OFFSET_TAG,
    REQUEST_TYPE_TAG,
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
"""Types of LeaderAndIsr: as before types existed; some partitions; all that the broker has."""

NO_LEADER = -1
LEADER_DURING_DELETE = -2
"""The leader of partitions whose topic is no longer there."""


class LeaderAndIsrPartition(Message, frozen=True, kw_only=True):
    """A partition as a replica must know it.

    `create_offset` is where in the log this life of the partition began, -1 when that is no longer
    known: an id that was removed and came back has the same topic id but another offset.
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
    """A topic; without an id it comes from a controller that knows none."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition_states: tuple[LeaderAndIsrPartition, ...]


class LiveLeader(Message, frozen=True, kw_only=True):
    """Where a leader listens."""

    id: Int32
    host: str
    port: Int32


class BrokerConfig(Message, frozen=True, kw_only=True):
    """A config that the broker follows, as it is set for it; ours.

    `is_static`: where the controller is started, and not in the log.
    """

    name: str
    value: str
    is_static: bool = False


class LeaderAndIsrRequest(Request, frozen=True, kw_only=True):
    """Who leads the partitions that this broker has; FULL names all of them."""

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64
    type: Annotated[Int8, tagged(REQUEST_TYPE_TAG)] = UNSPECIFIED
    broker_configs: Annotated[tuple[BrokerConfig, ...], tagged(BROKER_CONFIGS_TAG)] = ()
    topic_states: tuple[LeaderAndIsrTopic, ...]
    live_leaders: tuple[LiveLeader, ...] = ()


class ReplicaResult(Message, frozen=True, kw_only=True):
    """What a broker made of one partition."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition: Int32
    error_code: Int16 = 0


class LeaderAndIsrResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    error_code: Int16 = 0
    partitions: tuple[ReplicaResult, ...] = ()


class StoppedTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic that the broker is to leave."""

    topic: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition_ids: tuple[Int32, ...]


class StopReplicaRequest(Request, frozen=True, kw_only=True):
    """Stop following partitions, and delete them if told so."""

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64
    delete_partitions: bool
    partitions: tuple[StoppedTopic, ...]


class StopReplicaResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    error_code: Int16 = 0
    partitions: tuple[ReplicaResult, ...] = ()


class UpdatedPartition(Message, frozen=True, kw_only=True):
    """A partition as every broker must know it, to tell clients and to refuse them."""

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
    """A topic with all its partitions."""

    topic_name: str
    topic_id: Annotated[Uuid, tagged(TOPIC_ID_TAG)] = ZERO_UUID
    partition_states: tuple[UpdatedPartition, ...]


class UpdatedEndpoint(Message, frozen=True, kw_only=True):
    """Where a broker listens."""

    port: Int32
    host: str
    listener: str
    security_protocol: Int16


class LiveBroker(Message, frozen=True, kw_only=True):
    """A broker that clients may speak to."""

    id: Int32
    endpoints: tuple[UpdatedEndpoint, ...]
    rack: str | None = None


class UpdateMetadataRequest(Request, frozen=True, kw_only=True):
    """Topics that changed, and all live brokers; FULL holds every topic.

    It comes last of what is sent about one offset, and names it: the broker has then applied the
    log up to there, inclusive.
    """

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64
    type: Annotated[Int8, tagged(REQUEST_TYPE_TAG)] = UNSPECIFIED
    metadata_offset: Annotated[Int64, tagged(METADATA_OFFSET_TAG)] = -1
    broker_configs: Annotated[tuple[BrokerConfig, ...], tagged(BROKER_CONFIGS_TAG)] = ()
    topic_states: tuple[UpdatedTopic, ...] = ()
    live_brokers: tuple[LiveBroker, ...] = ()


class UpdateMetadataResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    error_code: Int16 = 0
