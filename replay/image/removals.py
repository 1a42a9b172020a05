"""Removals in progress: pending partition removals, and replicas being deleted."""

import msgspec

from records.base import Uuid
from records.errors import ContradictionError
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from records.text import uuid_text
from replay.image.changes import MapDelta, NestedMapDelta

GONE = 7
"""State of a replica that is no longer tracked (NonExistentReplica)."""


class PendingRemoval(msgspec.Struct, frozen=True, gc=False):
    """A partition that will be removed `delay_ms` after `create_time_ms`."""

    topic_id: Uuid
    partition_id: int
    delay_ms: int
    create_time_ms: int


class ReplicaDeletion(msgspec.Struct, frozen=True, gc=False):
    """State of the deletion of one replica on a broker: 4 started, 5 successful, 6 ineligible."""

    topic_id: Uuid
    partition_id: int
    broker_id: int
    state: int


class PendingRemovalsDelta(NestedMapDelta[Uuid, int, PendingRemoval]):
    """Changes to pending removals, by topic id and partition id."""

    def add(self, record: DeleteTopicPartitionsRecord) -> None:
        """Add pending removals; if a partition already has one, replace its delay."""
        pending = self.at(record.topic_id)
        for partition_id in record.partition_ids:
            removal = PendingRemoval(
                topic_id=record.topic_id,
                partition_id=partition_id,
                delay_ms=record.delay_ms,
                create_time_ms=record.create_time_ms,
            )
            pending.put(partition_id, removal)

    def cancel(self, record: CancelDeleteTopicPartitionsRecord) -> None:
        """Remove the pending removals of the record's partitions; each must have one."""
        pending = self.at(record.topic_id)
        for partition_id in record.partition_ids:
            if pending.take(partition_id) is None:
                raise ContradictionError(
                    f"topic {uuid_text(record.topic_id)} has no pending removal of partition "
                    f"{partition_id}"
                )

    def finish(self, record: RemovePartitionsRecord) -> None:
        """Clear the pending removals, if any, of the partitions that the record removes."""
        pending = self.at(record.topic_id)
        for partition_id in record.partition_ids:
            pending.take(partition_id)


class ReplicaDeletionsDelta(MapDelta[tuple[Uuid, int, int], ReplicaDeletion]):
    """Changes to replica deletions, by topic id, partition id and broker id."""

    def set(self, record: ReplicaDeletionRecord) -> None:
        """Set the state of a deletion; state 7 (GONE) removes the entry."""
        key = (record.topic_id, record.partition_id, record.broker_id)
        if record.state != GONE:
            self.put(key, ReplicaDeletion(*key, record.state))
        elif self.take(key) is None:
            raise ContradictionError(
                f"broker {record.broker_id} deletes no replica of partition {record.partition_id} "
                f"of topic {uuid_text(record.topic_id)}"
            )
