"""Topics by id and by name, each with its partitions."""

from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence

import msgspec
from immutables import Map

from records.base import Uuid
from records.errors import ContradictionError
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
from replay.image.map_differences import unshared_values
from replay.image.partition_list import Partitions
from replay.image.partitions import Partition
from replay.image.placement import Placement
from replay.image.topic_entry import Entry, Topic, TopicDelta, TopicEntry, different
from replay.image.versions import UNKNOWN, partition_offsets

__all__ = ["Partition", "Topic", "TopicEntry", "TopicsDelta", "TopicsImage"]


class TopicsImage(msgspec.Struct, frozen=True, gc=False):
    """All topics at one offset of the log. Callers use the methods, never the maps."""

    _entries: Map[Uuid, Entry] = Map()
    # Namespace to name to topic id; no empty map is kept.
    _ids: Map[Uuid | None, Map[str, Uuid]] = Map()
    partition_count: int = 0

    @property
    def topic_count(self) -> int:
        """Number of topics."""
        return len(self._entries)

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the topic with this id."""
        entry = self._entries.get(topic_id)
        return None if entry is None else entry.topic

    def topic_by_name(self, name: str, namespace_id: Uuid | None) -> Topic | None:
        """Return the topic with this name in a namespace."""
        topic_id = self._ids.get(namespace_id, _NO_IDS).get(name)
        return None if topic_id is None else self.topic(topic_id)

    def topics(self) -> Iterator[Topic]:
        """Iterate over all topics, in any order."""
        return (entry.topic for entry in self._entries.values())

    def topics_in(self, namespace_id: Uuid | None) -> Iterator[Topic]:
        """Iterate over the topics directly in a namespace, in any order."""
        return (self._entries[i].topic for i in self._ids.get(namespace_id, _NO_IDS).values())

    def differences(self, other: "TopicsImage") -> tuple[list[TopicEntry], list[TopicEntry]]:
        """Return the topics that differ between the images: as in this image, and as in `other`.

        Topics that only one image has are included. O(topics), but fast for topics that the two
        images share.
        """
        ours, theirs = unshared_values(self._entries, other._entries)
        others = {entry.topic.topic_id: entry for entry in theirs}
        only_here, only_there = [], []
        for entry in ours:
            same_topic = others.pop(entry.topic.topic_id, None)
            if same_topic is None:
                only_here.append(entry.passing())
            elif (pair := different(entry, same_topic)) is not None:
                only_here.append(pair[0])
                only_there.append(pair[1])
        return only_here, only_there + [entry.passing() for entry in others.values()]

    def shares_entry(self, other: "TopicsImage", topic_id: Uuid) -> bool:
        """True if a topic is absent from both images, or both have the same entry object: O(1)."""
        return self._entries.get(topic_id) is other._entries.get(topic_id)

    def partitions(self, topic_id: Uuid) -> Partitions:
        """Return a topic's partitions, ordered by id; none for an unknown topic."""
        entry = self._entries.get(topic_id)
        return () if entry is None else entry.partitions

    def degraded(self, topic_id: Uuid, min_isr: int) -> Iterable[Partition]:
        """Return the partitions of a topic as `DeferredEntry.degraded`."""
        return self._entries[topic_id].degraded(min_isr)

    def size(self, topic_id: Uuid) -> int:
        """Return the number of a topic's partitions, 0 for an unknown topic."""
        entry = self._entries.get(topic_id)
        return 0 if entry is None else entry.partition_count

    def placements(self) -> Iterator[tuple[Topic, Placement]]:
        """Iterate over all topics with where their partitions are, in any order."""
        return ((entry.topic, entry.placement()) for entry in self._entries.values())

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        """Return one partition."""
        return partition_list.find(self.partitions(topic_id), partition_id)

    def version(self, topic_id: Uuid) -> int:
        """Return a topic's version: the offset of the last record that touched the topic.

        A record touches a topic if it sets the topic's name, or adds, replaces or removes a
        partition.
        """
        entry = self._entries.get(topic_id)
        return UNKNOWN if entry is None else entry.version

    def partition_offsets(self, topic_id: Uuid, partition_id: int) -> tuple[int, int]:
        """Return the version and the creation offset of a partition."""
        entry = self._entries.get(topic_id)
        offsets = b"" if entry is None else entry.offsets
        return partition_offsets(offsets, partition_id)

    def entries(self) -> Iterator[TopicEntry]:
        """Iterate over all topics with their partitions and versions, in any order.

        Partitions that are made for this are not kept.
        """
        return (entry.passing() for entry in self._entries.values())

    def entries_unlike(
        self, fields: Sequence[str], is_usual: Callable[[tuple[object, ...]], bool]
    ) -> Iterator[TopicEntry]:
        """Iterate over the topics, leaving out some of those whose partitions are all usual.

        Args:
            fields: Fields of partitions.
            is_usual: True if a partition with these values of the fields is usual.
        """
        for entry in self._entries.values():
            values = entry.values(fields)
            if values is None or not all(map(is_usual, values)):
                yield entry.passing()


_NO_IDS: Map[str, Uuid] = Map()
_NO_CHANGES: Mapping[int, None] = {}


class TopicsDelta:
    """Changes to topics and their partitions."""

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        # Each changed topic; None if it was removed.
        self._topics: dict[Uuid, TopicDelta | None] = {}
        self._ids = NestedMapDelta(image._ids)
        # The partition before and after the last record that set or changed one; a follower that
        # explains each record would else look it up twice.
        self.before: Partition | None = None
        self.after: Partition | None = None
        # Topics were read that are not among the changed ones.
        self._read_others = False
        self._renamed: set[Uuid] = set()

    @property
    def changed(self) -> KeysView[Uuid]:
        """Ids of the topics that were created, changed in any way, or removed."""
        return self._topics.keys()

    @property
    def renamed(self) -> Collection[Uuid]:
        """Ids of the topics that were created, moved or removed."""
        return self._renamed

    def topic_before(self, topic_id: Uuid) -> Topic | None:
        """Return a topic as it was before the changes."""
        return self._image.topic(topic_id)

    def partitions_before(self, topic_id: Uuid) -> Mapping[int, Partition | None]:
        """Return the partitions of `changed_partitions` as they were before, None: absent."""
        before = self._image.partitions(topic_id)
        return {
            each: partition_list.find(before, each) for each in self.changed_partitions(topic_id)
        }

    def changed_partitions(self, topic_id: Uuid) -> Mapping[int, Partition | None]:
        """Return the partitions that were set or removed in a changed topic, by id.

        None stands for a removed partition. Empty if the topic itself was removed.
        """
        delta = self._topics[topic_id]
        return _NO_CHANGES if delta is None else delta.changes

    def may_have_new_members(self, topic_id: Uuid) -> bool:
        """True if partitions of a changed topic may have been created or removed."""
        delta = self._topics[topic_id]
        return delta is None or bool(delta.created)

    def create_topic(self, record: TopicRecord, offset: int) -> None:
        """Add a topic without partitions."""
        if self.topic(record.topic_id) is not None:
            topic_id = uuid_text(record.topic_id)
            raise ContradictionError(f"topic id {topic_id} exists", about=f"topic:@{topic_id}#name")
        topic = Topic(record.topic_id, record.name, record.namespace_id)
        self._claim_name(topic)
        self._renamed.add(record.topic_id)
        delta = self._topics[record.topic_id] = TopicDelta(TopicEntry(topic, version=offset))
        # Of a topic that was removed since the image: its partitions are changed, too.
        for old in self._image.partitions(record.topic_id):
            delta.remove(old.partition_id)

    def remove_topic(self, record: RemoveTopicRecord) -> Topic:
        """Remove a topic with its partitions; return it."""
        topic = self._touch(record.topic_id).topic
        self._ids.at(topic.namespace_id).take(topic.name)
        self._renamed.add(record.topic_id)
        self._topics[record.topic_id] = None
        return topic

    def move_topic(self, record: MoveTopicRecord, offset: int) -> tuple[Topic, Topic]:
        """Change a topic's namespace and name; return the topic before and after."""
        delta = self._touch(record.topic_id)
        old, new = delta.topic, Topic(delta.topic.topic_id, record.name, record.namespace_id)
        self._claim_name(new)
        self._ids.at(old.namespace_id).take(old.name)
        self._renamed.add(record.topic_id)
        delta.topic, delta.version = new, offset
        return old, new

    def set_partition(self, record: PartitionRecord, offset: int) -> None:
        """Add a partition, or replace all of its fields."""
        delta = self._topics.get(record.topic_id) or self._touch(record.topic_id)
        partition = partitions.created(record, delta.topic.topic_id)
        partition_id = partition.partition_id
        self.before, self.after = delta.find(partition_id), partition
        delta.changes[partition_id] = partition
        delta.versions[partition_id] = delta.created[partition_id] = offset
        # Offsets grow, but those of a base checkpoint may be unknown.
        if offset > delta.version:
            delta.version = offset

    def restore_offsets(
        self, topic_id: Uuid, partition_id: int, version: int, created: int
    ) -> None:
        """Set version and creation offset of a partition to those stored in a base checkpoint."""
        delta = self._touch(topic_id)
        delta.versions[partition_id], delta.created[partition_id] = version, created

    def check_partitions(self, topic_id: Uuid, partition_ids: Iterable[int]) -> None:
        """Check that all of these partitions exist, before a record changes any of them."""
        delta = self._touch(topic_id)
        for partition_id in partition_ids:
            delta.existing(partition_id)

    def touch_partition(self, topic_id: Uuid, partition_id: int, offset: int) -> None:
        """Update only the version of a partition, which must exist."""
        delta = self._touch(topic_id)
        delta.existing(partition_id)
        # In a base checkpoint the partition's own record has set its version.
        if offset != UNKNOWN:
            delta.versions[partition_id] = offset

    def change_partition(self, record: PartitionChangeRecord, offset: int) -> None:
        """Change some fields of a partition."""
        delta = self._topics.get(record.topic_id) or self._touch(record.topic_id)
        partition_id = record.partition_id
        old = delta.changes.get(partition_id) or delta.existing(partition_id)
        self.before, self.after = old, partitions.changed(old, record)
        delta.changes[partition_id] = self.after
        delta.versions[partition_id] = offset

    def remove_partitions(self, record: RemovePartitionsRecord, offset: int) -> None:
        """Remove partitions; each must exist."""
        self.check_partitions(record.topic_id, record.partition_ids)
        delta = self._touch(record.topic_id)
        delta.version = offset
        for partition_id in record.partition_ids:
            delta.remove(partition_id)

    def clear_elr(self, record: ClearElrRecord, offset: int) -> None:
        """Clear the eligible leader replicas of one topic or of all topics: O(partitions)."""
        self._read_others = True
        for topic_id in self._topic_ids_named(record.topic_name):
            for old in self.partitions(topic_id):
                new = partitions.without_elr(old)
                if new is not old:
                    delta = self._touch(topic_id)
                    delta.changes[new.partition_id] = new
                    delta.versions[new.partition_id] = offset

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the current topic with this id."""
        if topic_id in self._topics:
            delta = self._topics[topic_id]
            return None if delta is None else delta.topic
        return self._image.topic(topic_id)

    def topic_ids(self) -> Iterator[Uuid]:
        """Iterate over the ids of the current topics, in any order."""
        ids = {topic.topic_id for topic in self._image.topics()} | self._topics.keys()
        return (topic_id for topic_id in ids if self.topic(topic_id) is not None)

    def topic_id_named(self, name: str, namespace_id: Uuid | None) -> Uuid | None:
        """Return the id of the topic that currently has this name in a namespace, or None."""
        return self._ids.at(namespace_id).get(name)

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        """Return the current state of a partition."""
        delta = self._topics.get(topic_id)
        if delta is not None:
            return delta.find(partition_id)
        return None if topic_id in self._topics else self._image.partition(topic_id, partition_id)

    def has_topics_in(self, namespace_id: Uuid) -> bool:
        """True if a namespace directly contains topics."""
        return not self._ids.at(namespace_id).is_empty()

    def apply(self) -> TopicsImage:
        """Return the image of the topics with the changes applied; shares unchanged topics."""
        if not self._topics:
            return self._image
        entries = self._image._entries.mutate()
        partition_count = self._image.partition_count
        for topic_id, delta in self._topics.items():
            partition_count -= self._image.size(topic_id)
            if delta is None:
                entries.pop(topic_id, None)
            else:
                entry = entries[topic_id] = delta.apply()
                partition_count += entry.partition_count
        return TopicsImage(entries.finish(), self._ids.apply(), partition_count)

    def applied_to(self, other: TopicsImage, after: TopicsImage) -> TopicsImage | None:
        """Return `other` with the same changes; None if the records might change it differently.

        The changes are the same if `other` has the same objects as this delta's image for all
        topics and names that were read. They are compared by identity: O(topics changed).

        Args:
            after: The result of `apply`.
        """
        image, names_read = self._image, self._ids.has_been_read
        if self._read_others or (names_read and other._ids is not image._ids):
            return None
        if not all(image.shares_entry(other, topic_id) for topic_id in self._topics):
            return None
        entries = other._entries.mutate()
        for topic_id in self._topics:
            entry = after._entries.get(topic_id)
            if entry is not None:
                entries[topic_id] = entry
            else:
                entries.pop(topic_id, None)
        return TopicsImage(
            entries.finish(),
            after._ids if names_read else other._ids,
            other.partition_count + after.partition_count - image.partition_count,
        )

    def _touch(self, topic_id: Uuid) -> TopicDelta:
        if topic_id in self._topics:
            delta = self._topics[topic_id]
        else:
            entry = self._image._entries.get(topic_id)
            delta = None if entry is None else TopicDelta(entry)
            if delta is not None:
                self._topics[topic_id] = delta
        if delta is None:
            text = uuid_text(topic_id)
            raise ContradictionError(f"there is no topic of id {text}", about=f"topic:@{text}")
        return delta

    def _claim_name(self, topic: Topic) -> None:
        names = self._ids.at(topic.namespace_id)
        taken_by = names.get(topic.name)
        if taken_by is not None:
            owner = uuid_text(taken_by)
            raise ContradictionError(
                f"name {topic.name!r} belongs to topic {owner}", about=f"topic:@{owner}#name"
            )
        names.put(topic.name, topic.topic_id)

    def _topic_ids_named(self, name: str) -> Iterable[Uuid]:
        if name:
            topic_id = self._ids.at(None).get(name)
            return [] if topic_id is None else [topic_id]
        return self.topic_ids()

    def partitions(self, topic_id: Uuid) -> Partitions:
        """Return the current partitions of a topic, ordered by id."""
        if topic_id not in self._topics:
            return self._image.partitions(topic_id)
        delta = self._topics[topic_id]
        return () if delta is None else delta.partitions()
