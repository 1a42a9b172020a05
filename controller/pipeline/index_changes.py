"""The entries of a cluster index that records may change."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controller.decisions.partitions.partition_change import LEADER_UNCHANGED
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
from replay.image import configs
from replay.image.metadata import MetadataImage


class IndexChanges:
    """Topics, each with some of its partitions, and consumer groups that records may change.

    Attributes:
        partition_ids: The ids of the partitions, by topic.
        groups: The names of the consumer groups.
    """

    def __init__(self) -> None:
        self.partition_ids: defaultdict[Uuid, set[int]] = defaultdict(set)
        self.groups: set[str] = set()

    def add(self, records: Iterable[Record], before: MetadataImage) -> None:
        """Add what some records may change.

        Args:
            before: The image before the records; a removed topic's partitions are looked up in it.
        """
        for record in records:
            if isinstance(record, ConfigRecord):  # the most frequent ones, without a call
                if record.resource_type == configs.GROUP:
                    self.groups.add(record.resource_name)
                continue
            add = _ADD.get(type(record))
            if add is not None:
                add(self, record, before)

    def clear(self) -> None:
        """Forget everything that was added."""
        self.partition_ids.clear()
        self.groups.clear()

    def _add_changed(self, record: PartitionChangeRecord, _: MetadataImage) -> None:
        if _changes_the_index(record):
            self.partition_ids[record.topic_id].add(record.partition_id)

    def _add_new(self, record: PartitionRecord, _: MetadataImage) -> None:
        self.partition_ids[record.topic_id].add(record.partition_id)

    def _add_removed(self, record: RemovePartitionsRecord, _: MetadataImage) -> None:
        self.partition_ids[record.topic_id].update(record.partition_ids)

    def _add_topic(self, record: TopicRecord | MoveTopicRecord, _: MetadataImage) -> None:
        self.partition_ids.setdefault(record.topic_id, set())

    def _add_removed_topic(self, record: RemoveTopicRecord, before: MetadataImage) -> None:
        removed = before.partitions(record.topic_id)
        self.partition_ids[record.topic_id].update(each.partition_id for each in removed)


_ADD: Mapping[type[Record], Callable[[IndexChanges, Any, MetadataImage], None]] = {
    PartitionChangeRecord: IndexChanges._add_changed,
    PartitionRecord: IndexChanges._add_new,
    RemovePartitionsRecord: IndexChanges._add_removed,
    TopicRecord: IndexChanges._add_topic,
    MoveTopicRecord: IndexChanges._add_topic,
    RemoveTopicRecord: IndexChanges._add_removed_topic,
}


def _changes_the_index(change: PartitionChangeRecord) -> bool:
    return (
        change.leader != LEADER_UNCHANGED
        or change.replicas is not None
        or change.adding_replicas is not None
        or change.removing_replicas is not None
    )
