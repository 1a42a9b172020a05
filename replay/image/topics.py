"""Topics by id and by name, each with its partitions."""

from collections.abc import Iterable, Iterator, KeysView

import msgspec
from immutables import Map

from records.base import Uuid
from records.partitions import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemovePartitionsRecord,
)
from records.text import uuid_text
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
from replay.image import partition_list, partitions
from replay.image.changes import NestedMapDelta
from replay.image.errors import ContradictionError
from replay.image.partition_list import Partitions
from replay.image.partitions import Partition

__all__ = ["Partition", "Topic", "TopicsDelta", "TopicsImage"]


class Topic(msgspec.Struct, frozen=True, gc=False):
    """A topic. `name` is the last part of its full name; no namespace is the default one."""

    topic_id: Uuid
    name: str
    namespace_id: Uuid | None = None


class TopicsImage(msgspec.Struct, frozen=True, gc=False):
    """All topics at one point of the log. Callers use the methods, never the maps."""

    # Each topic and its partitions.
    _entries: Map[Uuid, tuple[Topic, Partitions]] = Map()
    # Namespace to name to topic id; no empty map is kept.
    _ids: Map[Uuid | None, Map[str, Uuid]] = Map()
    partition_count: int = 0

    @property
    def topic_count(self) -> int:
        """How many topics there are."""
        return len(self._entries)

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the topic of an id."""
        entry = self._entries.get(topic_id)
        return None if entry is None else entry[0]

    def topic_by_name(self, name: str, namespace_id: Uuid | None) -> Topic | None:
        """Return the topic of a name within a namespace."""
        topic_id = self._ids.get(namespace_id, _NO_IDS).get(name)
        return None if topic_id is None else self.topic(topic_id)

    def topics(self) -> Iterator[Topic]:
        """Iterate over all topics, in any order."""
        return (topic for topic, _ in self._entries.values())

    def topics_in(self, namespace_id: Uuid | None) -> Iterator[Topic]:
        """Iterate over the topics right in a namespace, in any order."""
        return (self._entries[i][0] for i in self._ids.get(namespace_id, _NO_IDS).values())

    def partitions(self, topic_id: Uuid) -> Partitions:
        """Return a topic's partitions, ordered by id; none for an unknown topic."""
        entry = self._entries.get(topic_id)
        return () if entry is None else entry[1]

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        """Return one partition."""
        return partition_list.find(self.partitions(topic_id), partition_id)


_NO_IDS: Map[str, Uuid] = Map()


class TopicsDelta:
    """Changes to topics and their partitions."""

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        # Each touched topic; None when it was removed.
        self._topics: dict[Uuid, _TopicDelta | None] = {}
        self._ids = NestedMapDelta(image._ids)

    @property
    def changed(self) -> KeysView[Uuid]:
        """Ids of the topics that were created, changed in any way, or removed."""
        return self._topics.keys()

    def create_topic(self, record: TopicRecord) -> None:
        """Add a topic without partitions."""
        if self.topic(record.topic_id) is not None:
            raise ContradictionError(f"topic id {uuid_text(record.topic_id)} exists")
        topic = Topic(record.topic_id, record.name, record.namespace_id)
        self._claim_name(topic)
        self._topics[record.topic_id] = _TopicDelta(topic, ())

    def remove_topic(self, record: RemoveTopicRecord) -> Topic:
        """Remove a topic with its partitions; return it."""
        topic = self._touch(record.topic_id).topic
        self._ids.at(topic.namespace_id).take(topic.name)
        self._topics[record.topic_id] = None
        return topic

    def move_topic(self, record: MoveTopicRecord) -> tuple[Topic, Topic]:
        """Give a topic another namespace and name; return it before and after."""
        delta = self._touch(record.topic_id)
        old, new = delta.topic, Topic(delta.topic.topic_id, record.name, record.namespace_id)
        self._claim_name(new)
        self._ids.at(old.namespace_id).take(old.name)
        delta.topic = new
        return old, new

    def set_partition(self, record: PartitionRecord) -> None:
        """Add a partition, or replace it as a whole."""
        delta = self._topics.get(record.topic_id) or self._touch(record.topic_id)
        partition = partitions.created(record, delta.topic.topic_id)
        delta.changes[partition.partition_id] = partition

    def change_partition(self, record: PartitionChangeRecord) -> None:
        """Change some fields of a partition."""
        delta = self._topics.get(record.topic_id) or self._touch(record.topic_id)
        partition_id = record.partition_id
        old = delta.changes.get(partition_id) or delta.existing(partition_id)
        delta.changes[partition_id] = partitions.changed(old, record)

    def remove_partitions(self, record: RemovePartitionsRecord) -> None:
        """Remove partitions for good."""
        delta = self._touch(record.topic_id)
        for partition_id in record.partition_ids:
            delta.existing(partition_id)
            delta.changes[partition_id] = None

    def clear_elr(self, record: ClearElrRecord) -> list[tuple[Uuid, int]]:
        """Clear the eligible leader replicas of one topic, or of all: O(partitions).

        Returns:
            Topic id and partition id of each partition that had any.
        """
        cleared = []
        for topic_id in self._topic_ids_named(record.topic_name):
            for old in self._partitions(topic_id):
                new = partitions.without_elr(old)
                if new is not old:
                    self._touch(topic_id).changes[new.partition_id] = new
                    cleared.append((topic_id, new.partition_id))
        return cleared

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the topic of an id as it is now."""
        if topic_id in self._topics:
            delta = self._topics[topic_id]
            return None if delta is None else delta.topic
        return self._image.topic(topic_id)

    def check_partition(self, topic_id: Uuid, partition_id: int) -> None:
        """Raise ContradictionError unless the partition exists."""
        self._touch(topic_id).existing(partition_id)

    def has_topics_in(self, namespace_id: Uuid) -> bool:
        """Whether topics are left in a namespace."""
        return not self._ids.at(namespace_id).is_empty()

    def apply(self) -> TopicsImage:
        """Return the next image; topics that were not touched are shared."""
        if not self._topics:
            return self._image
        entries = self._image._entries.mutate()
        partition_count = self._image.partition_count
        for topic_id, delta in self._topics.items():
            partition_count -= len(self._image.partitions(topic_id))
            if delta is None:
                entries.pop(topic_id, None)
            else:
                entry = entries[topic_id] = (delta.topic, delta.apply())
                partition_count += len(entry[1])
        return TopicsImage(entries.finish(), self._ids.apply(), partition_count)

    def _touch(self, topic_id: Uuid) -> "_TopicDelta":
        if topic_id in self._topics:
            delta = self._topics[topic_id]
        else:
            entry = self._image._entries.get(topic_id)
            delta = None if entry is None else _TopicDelta(*entry)
            if delta is not None:
                self._topics[topic_id] = delta
        if delta is None:
            raise ContradictionError(f"there is no topic of id {uuid_text(topic_id)}")
        return delta

    def _claim_name(self, topic: Topic) -> None:
        names = self._ids.at(topic.namespace_id)
        taken_by = names.get(topic.name)
        if taken_by is not None:
            raise ContradictionError(f"name {topic.name!r} belongs to topic {uuid_text(taken_by)}")
        names.put(topic.name, topic.topic_id)

    def _topic_ids_named(self, name: str) -> Iterable[Uuid]:
        if name:
            topic_id = self._ids.at(None).get(name)
            return [] if topic_id is None else [topic_id]
        return {topic.topic_id for topic in self._image.topics()} | self._topics.keys()

    def _partitions(self, topic_id: Uuid) -> Partitions:
        if topic_id not in self._topics:
            return self._image.partitions(topic_id)
        delta = self._topics[topic_id]
        return () if delta is None else delta.apply()


class _TopicDelta:
    """One touched topic: as it is now, its partitions before, and the changes to them."""

    __slots__ = ("base", "changes", "topic")

    def __init__(self, topic: Topic, base: Partitions) -> None:
        self.topic = topic
        self.base = base
        # None: removed.
        self.changes: dict[int, Partition | None] = {}

    def existing(self, partition_id: int) -> Partition:
        if partition_id in self.changes:
            partition = self.changes[partition_id]
        else:
            partition = partition_list.find(self.base, partition_id)
        if partition is None:
            raise ContradictionError(
                f"topic {uuid_text(self.topic.topic_id)} has no partition {partition_id}"
            )
        return partition

    def apply(self) -> Partitions:
        return partition_list.merged(self.base, self.changes) if self.changes else self.base
