"""The states of partitions that a controller sends to brokers."""

from typing import Any

from api.kafka.messages.replicas import (
    FULL,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrTopic,
)
from records.base import Uuid


def topic_states(name: str, topic_id: Uuid, *states: LeaderAndIsrPartition) -> LeaderAndIsrTopic:
    return LeaderAndIsrTopic(topic=name, topic_id=topic_id, partition_states=states)


def state(partition: int, leader: int, **fields: Any) -> LeaderAndIsrPartition:
    """Return the state of a partition; by default its leader is alone, in its first epoch."""
    defaults: dict[str, Any] = {
        "leader_epoch": 0,
        "isr": (leader,),
        "zk_version": 0,
        "replicas": (leader,),
    }
    return LeaderAndIsrPartition(
        partition=partition, controller_epoch=1, leader=leader, **(defaults | fields)
    )


def leader_and_isr(*topics: LeaderAndIsrTopic, kind: int = FULL) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(
        controller_id=3000, controller_epoch=1, broker_epoch=1, type=kind, topic_states=topics
    )
