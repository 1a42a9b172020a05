"""Deletion of replicas of partitions being removed.

If a broker is down or fails to delete its replica, the replica becomes ineligible; the deletion is
retried once the broker is active. Replicas of unregistered brokers count as deleted.

Source: KIP-694; states as in `replica_states`.
"""

from collections.abc import Iterator, Mapping

from controller.decisions.context.context import Context
from controller.decisions.partitions.replica_states import (
    DELETION_INELIGIBLE,
    DELETION_STARTED,
    DELETION_SUCCESSFUL,
    NON_EXISTENT,
    OFFLINE,
    walk,
)
from records.base import Uuid
from records.partitions import ReplicaDeletionRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition

ReplicaKey = tuple[Uuid, int, int]
"""Topic id, partition id, broker id."""


def deletion_states(image: MetadataImage) -> dict[ReplicaKey, int]:
    """Return the state of each tracked replica."""
    return {
        (deletion.topic_id, deletion.partition_id, deletion.broker_id): deletion.state
        for deletion in image.replica_deletions()
    }


def next_deletions(
    context: Context, partition: Partition, states: Mapping[ReplicaKey, int]
) -> Iterator[ReplicaDeletionRecord]:
    """Yield records that start deletions, and retry failed ones whose broker is active again."""
    for broker_id in partition.replicas:
        key = _key(partition, broker_id)
        state = states.get(key)
        if state is None and context.image.broker(broker_id) is not None:
            active = context.is_active(broker_id)
            yield record(key, walk(OFFLINE, DELETION_STARTED if active else DELETION_INELIGIBLE))
        elif state == DELETION_INELIGIBLE and context.is_active(broker_id):
            yield record(key, walk(DELETION_INELIGIBLE, OFFLINE, DELETION_STARTED))


def orphaned_deletions(
    context: Context, states: Mapping[ReplicaKey, int]
) -> Iterator[ReplicaDeletionRecord]:
    """Yield records that advance the deletion of replicas whose topic was deleted meanwhile."""
    for key, state in sorted(states.items()):
        topic_id, partition_id, broker_id = key
        if context.image.partition(topic_id, partition_id) is not None:
            continue
        if context.image.broker(broker_id) is None:
            yield record(key, NON_EXISTENT)
        elif state == DELETION_INELIGIBLE and context.is_active(broker_id):
            yield record(key, walk(DELETION_INELIGIBLE, OFFLINE, DELETION_STARTED))
        elif state == DELETION_SUCCESSFUL:
            yield record(key, walk(DELETION_SUCCESSFUL, NON_EXISTENT))


def is_done(context: Context, partition: Partition, states: Mapping[ReplicaKey, int]) -> bool:
    """True if no registered broker has a replica of the partition any more."""
    return all(
        states.get(_key(partition, broker_id)) == DELETION_SUCCESSFUL
        or context.image.broker(broker_id) is None
        for broker_id in partition.replicas
    )


def untracked(
    partition: Partition, states: Mapping[ReplicaKey, int]
) -> Iterator[ReplicaDeletionRecord]:
    """Yield records that stop tracking the replicas of a removed partition."""
    for broker_id in partition.replicas:
        key = _key(partition, broker_id)
        if key in states:
            yield record(key, NON_EXISTENT)


def record(key: ReplicaKey, state: int) -> ReplicaDeletionRecord:
    """Return the record for a replica's new state."""
    topic_id, partition_id, broker_id = key
    return ReplicaDeletionRecord(
        topic_id=topic_id, partition_id=partition_id, broker_id=broker_id, state=state
    )


def _key(partition: Partition, broker_id: int) -> ReplicaKey:
    return partition.topic_id, partition.partition_id, broker_id
