"""Identity of the partition in a folder, and its comparison with the partition in a request.

Source: KIP-516; the creation offset does not exist in Kafka.
"""

from msgspec.structs import replace

from api.broker.log_directory import Found
from api.broker.partition_metadata import PartitionMetadata
from api.kafka.messages.replicas import LeaderAndIsrPartition, LeaderAndIsrTopic
from records.base import ZERO_UUID
from records.text import uuid_text

_UNKNOWN_CREATION = -1


def nobodys(found: Found) -> PartitionMetadata:
    """Return the identity of a folder without metadata file: only topic name and partition id."""
    return PartitionMetadata(topic_id=ZERO_UUID, name=found.name, partition=found.partition)


def named_by(topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition) -> PartitionMetadata:
    """Return the identity of a partition in a LeaderAndIsr request."""
    return PartitionMetadata(
        topic_id=topic.topic_id,
        name=topic.topic,
        partition=state.partition,
        create_offset=_creation(state),
    )


def completed_by(
    known: PartitionMetadata, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition
) -> PartitionMetadata:
    """Return a folder's known identity, with unknown fields taken from a request."""
    latest = named_by(topic, state)
    return replace(
        known,
        topic_id=latest.topic_id if known.topic_id == ZERO_UUID else known.topic_id,
        create_offset=latest.create_offset if known.create_offset is None else known.create_offset,
    )


def why_stale(
    known: PartitionMetadata, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition
) -> str | None:
    """Return the reason why a folder is not that of the request's partition; None if it is.

    Fields that are unknown on one side are not compared.
    """
    if ZERO_UUID in (known.topic_id, topic.topic_id):
        return None
    if known.topic_id != topic.topic_id:
        return f"the topic of that name has the id {uuid_text(topic.topic_id)} now"
    created = _creation(state)
    if None not in (known.create_offset, created) and known.create_offset != created:
        return f"the partition was removed, and created again at offset {created}"
    return None


def _creation(state: LeaderAndIsrPartition) -> int | None:
    return None if state.create_offset == _UNKNOWN_CREATION else state.create_offset
