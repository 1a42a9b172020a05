"""Broker requests: conversion between Kafka's messages and the controller's decisions."""

from collections.abc import Iterable, Iterator
from itertools import islice

from api.kafka.errors import refusal_code
from api.kafka.messages.brokers import (
    AlteredPartition,
    AlteredPartitionResult,
    AlteredTopicResult,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
)
from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    PartitionResult,
)
from controller.decisions.brokers.registrations import RegisterBroker
from controller.decisions.context.sessions import ReplicaLag
from records.base import Uuid
from records.brokers import BrokerEndpoint, BrokerFeature
from records.errors import RequestError


def registration(request: BrokerRegistrationRequest) -> RegisterBroker:
    """Return the controller's request for a BrokerRegistration message.

    Raises:
        RequestError: BROKER_ID_NOT_REGISTERED, the broker migrates from ZooKeeper; as in Kafka.
    """
    if request.is_migrating_zk_broker:
        raise RequestError(
            "BROKER_ID_NOT_REGISTERED",
            f"broker {request.broker_id} migrates from ZooKeeper, which is not supported",
        )
    return RegisterBroker(
        broker_id=request.broker_id,
        cluster_id=request.cluster_id,
        incarnation_id=request.incarnation_id,
        end_points=tuple(
            [
                BrokerEndpoint(
                    name=listener.name,
                    host=listener.host,
                    port=listener.port,
                    security_protocol=listener.security_protocol,
                )
                for listener in request.listeners
            ]
        ),
        features=tuple(
            [
                BrokerFeature(
                    name=feature.name,
                    min_supported_version=feature.min_supported_version,
                    max_supported_version=feature.max_supported_version,
                )
                for feature in request.features
            ]
        ),
        rack=request.rack,
        log_dirs=request.log_dirs,
        previous_broker_epoch=request.previous_broker_epoch,
    )


def beat(request: BrokerHeartbeatRequest) -> Heartbeat:
    """Convert a BrokerHeartbeat message to the controller's request."""
    return Heartbeat(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        metadata_offset=request.current_metadata_offset,
        want_fence=request.want_fence,
        want_shutdown=request.want_shut_down,
        offline_log_dirs=request.offline_log_dirs,
        cordoned_log_dirs=request.cordoned_log_dirs,
        lags=tuple(
            [ReplicaLag(lag.topic_id, lag.partition_index, lag.lag) for lag in request.lags]
        ),
    )


def beat_response(reply: HeartbeatReply) -> BrokerHeartbeatResponse:
    """Return the response to a BrokerHeartbeat."""
    return BrokerHeartbeatResponse(
        is_caught_up=reply.is_caught_up,
        is_fenced=reply.is_fenced,
        should_shut_down=reply.should_shut_down,
    )


def alterations(request: AlterPartitionRequest, size_max: int) -> Iterator[AlterPartition]:
    """Yield the controller's requests for an AlterPartition message, at least one.

    Args:
        size_max: Maximum of partitions in one of them.
    """
    partitions = (
        _altered(topic.topic_id, partition)
        for topic in request.topics
        for partition in topic.partitions
    )
    some = tuple(islice(partitions, size_max))
    while True:
        yield AlterPartition(
            broker_id=request.broker_id, broker_epoch=request.broker_epoch, partitions=some
        )
        if not (some := tuple(islice(partitions, size_max))):
            return


def _altered(topic_id: Uuid, partition: AlteredPartition) -> PartitionAlteration:
    members = [IsrMember(m.broker_id, m.broker_epoch) for m in partition.new_isr_with_epochs]
    return PartitionAlteration(
        topic_id=topic_id,
        partition_id=partition.partition_index,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=tuple(members or [IsrMember(broker_id) for broker_id in partition.new_isr]),
        leader_recovery_state=partition.leader_recovery_state,
    )


def alteration_response(results: Iterable[PartitionResult]) -> AlterPartitionResponse:
    """Return the response with the new state of each partition."""
    topics: dict[Uuid, list[AlteredPartitionResult]] = {}
    for result in results:
        topics.setdefault(result.topic_id, []).append(_altered_result(result))
    return AlterPartitionResponse(
        topics=tuple(
            [
                AlteredTopicResult(topic_id=topic_id, partitions=tuple(partitions))
                for topic_id, partitions in topics.items()
            ]
        )
    )


def _altered_result(result: PartitionResult) -> AlteredPartitionResult:
    partition = result.partition
    if partition is None:
        code = refusal_code(result.refusal)
        return AlteredPartitionResult(partition_index=result.partition_id, error_code=code)
    return AlteredPartitionResult(
        partition_index=partition.partition_id,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
