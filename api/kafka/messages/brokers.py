"""Requests of brokers to the controller: registration, heartbeat, AlterPartition, FollowLog.

Source: KIP-631 (registration, heartbeats), KIP-497 and KIP-903 (AlterPartition), KIP-858 (log
directories), KIP-1066 (cordoned ones), KIP-1022 (features from level 0 on, since version 4 of the
registration).
"""

from typing import Annotated

from api.kafka.fields import (
    LAG_TAG,
    WANTS_USERS_TAG,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Request,
    Response,
    UInt16,
    since,
    tagged,
    until,
)
from records.base import Uuid


class Listener(Message, frozen=True, kw_only=True):
    """Address of a broker's listener."""

    name: str
    host: str
    port: UInt16
    security_protocol: Int16


class Feature(Message, frozen=True, kw_only=True):
    """The levels of a feature that a broker supports, both bounds inclusive."""

    name: str
    min_supported_version: Int16
    max_supported_version: Int16


class BrokerRegistrationRequest(Request, frozen=True, kw_only=True):
    """Register a broker process."""

    broker_id: Int32
    cluster_id: str
    incarnation_id: Uuid
    listeners: tuple[Listener, ...] = ()
    features: tuple[Feature, ...] = ()
    rack: str | None = None
    is_migrating_zk_broker: Annotated[bool, since(1)] = False
    log_dirs: Annotated[tuple[Uuid, ...], since(2)] = ()
    previous_broker_epoch: Annotated[Int64, since(3)] = -1


class BrokerRegistrationResponse(Response, frozen=True, kw_only=True):
    """Result of a registration: the broker epoch to send in later requests."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    broker_epoch: Int64 = -1


class ReplicaLag(Message, frozen=True, kw_only=True):
    """The number of records that a follower still has to fetch for one partition; not in Kafka."""

    topic_id: Uuid
    partition_index: Int32
    lag: Int64


class BrokerHeartbeatRequest(Request, frozen=True, kw_only=True):
    """A broker's heartbeat, with the last log offset it has applied, inclusive.

    `cordoned_log_dirs` get no new partitions; null is unchanged.
    """

    broker_id: Int32
    broker_epoch: Int64
    current_metadata_offset: Int64
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: Annotated[tuple[Uuid, ...], tagged(0, 1)] = ()
    cordoned_log_dirs: Annotated[tuple[Uuid, ...] | None, tagged(1, 2)] = None
    lags: Annotated[tuple[ReplicaLag, ...], tagged(LAG_TAG)] = ()


class BrokerHeartbeatResponse(Response, frozen=True, kw_only=True):
    """The controller's view of the broker: if it is caught up, is fenced, and may shut down."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


class IsrBroker(Message, frozen=True, kw_only=True):
    """A member of a proposed ISR, with the broker epoch under which it fetched."""

    broker_id: Int32
    broker_epoch: Int64 = -1


class AlteredPartition(Message, frozen=True, kw_only=True):
    """The ISR that a leader proposes for a partition, and the epochs it is based on."""

    partition_index: Int32
    leader_epoch: Int32
    new_isr: Annotated[tuple[Int32, ...], until(2)] = ()
    new_isr_with_epochs: Annotated[tuple[IsrBroker, ...], since(3)] = ()
    leader_recovery_state: Annotated[Int8, since(1)] = 0
    partition_epoch: Int32


class AlteredTopic(Message, frozen=True, kw_only=True):
    """A topic's partitions to alter; from version 2 on, the topic is given only by its id."""

    topic_id: Uuid
    partitions: tuple[AlteredPartition, ...]


class AlterPartitionRequest(Request, frozen=True, kw_only=True):
    """Propose new ISRs for partitions that this broker leads."""

    broker_id: Int32
    broker_epoch: Int64
    topics: tuple[AlteredTopic, ...]


class AlteredPartitionResult(Message, frozen=True, kw_only=True):
    """A partition's state after AlterPartition, or an error."""

    partition_index: Int32
    error_code: Int16 = 0
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1
    isr: tuple[Int32, ...] = ()
    leader_recovery_state: Annotated[Int8, since(1)] = 0
    partition_epoch: Int32 = -1


class AlteredTopicResult(Message, frozen=True, kw_only=True):
    """The results of AlterPartition for the partitions of one topic."""

    topic_id: Uuid
    partitions: tuple[AlteredPartitionResult, ...]


class AlterPartitionResponse(Response, frozen=True, kw_only=True):
    """The results for the partitions of all topics, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: tuple[AlteredTopicResult, ...] = ()


class FollowLogRequest(Request, frozen=True, kw_only=True):
    """A broker's subscription to the metadata log.

    On the same connection, the controller then sends requests, and the broker responds to them.
    `controller_epoch` and `metadata_offset` are the controller's leader epoch and the last offset
    that the broker has applied; both are -1 after the broker's start. With `wants_users`, updates
    include the records that SASL needs to authenticate users.
    """

    broker_id: Int32
    broker_epoch: Int64
    controller_epoch: Int32 = -1
    metadata_offset: Int64 = -1
    wants_users: Annotated[bool, tagged(WANTS_USERS_TAG)] = False


class FollowLogResponse(Response, frozen=True, kw_only=True):
    """Result of a subscription, sent before the controller's first request."""

    error_code: Int16 = 0
    controller_epoch: Int32 = -1
