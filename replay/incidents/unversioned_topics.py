"""The topics of a cluster during replay, without versions; no image can be made from them.

A `TopicsDelta` keeps the offset of each change, and looks for a partition first among the changes,
then in the image. Incidents do not need these offsets: here all partitions of a topic are in one
dict, which is cheaper to update (benchmarks/README.md).
"""

from collections.abc import Iterable
from typing import NoReturn

from records.base import Uuid
from records.partitions import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemovePartitionsRecord,
)
from records.topics import RemoveTopicRecord
from replay.image import partitions
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition, changed
from replay.image.topic_entry import no_partition
from replay.image.topics import Topic, TopicsDelta, TopicsImage


class UnversionedTopics(TopicsDelta):
    """Topics with their current partitions.

    Records have the same effects and raise the same errors as in `TopicsDelta`. Versions are not
    kept, so no image can be made: `apply` must not be called.

    Attributes:
        live: Partitions by topic and number, of the topics that any record or question has named.
    """

    def __init__(self, image: TopicsImage) -> None:
        super().__init__(image)
        self.live: dict[Uuid, dict[int, Partition]] = {}

    def change(self, record: PartitionChangeRecord) -> tuple[Partition, Partition]:
        """Change some fields of a partition; return the partition before and after.

        Raises:
            ContradictionError: there is no such partition.
        """
        live = self.live.get(record.topic_id)
        if live is None:
            live = self._existing(record.topic_id)
        partition_id = record.partition_id
        before = live.get(partition_id)
        if before is None:
            raise no_partition(record.topic_id, partition_id)
        after = live[partition_id] = changed(before, record)
        return before, after

    def set(self, record: PartitionRecord) -> tuple[Partition | None, Partition]:
        """Add a partition, or replace all of its fields; return the partition before and after.

        Raises:
            ContradictionError: there is no such topic.
        """
        topic_id = record.topic_id
        live = self.live.get(topic_id)
        if live is None:
            live = self._existing(topic_id)
        elif live:  # its partitions share the id's bytes
            topic_id = next(iter(live.values())).topic_id
        partition_id = record.partition_id
        before = live.get(partition_id)
        after = live[partition_id] = partitions.created(record, topic_id)
        return before, after

    def put(self, partition: Partition) -> None:
        """Add a partition, or replace it.

        Raises:
            ContradictionError: there is no such topic.
        """
        live = self.live.get(partition.topic_id)
        if live is None:
            live = self._existing(partition.topic_id)
        live[partition.partition_id] = partition

    def set_partition(self, record: PartitionRecord, offset: int) -> None:
        self.before, self.after = self.set(record)

    def change_partition(self, record: PartitionChangeRecord, offset: int) -> None:
        self.before, self.after = self.change(record)

    def check_partitions(self, topic_id: Uuid, partition_ids: Iterable[int]) -> None:
        live = self._existing(topic_id)
        for partition_id in partition_ids:
            if partition_id not in live:
                raise no_partition(topic_id, partition_id)

    def touch_partition(self, topic_id: Uuid, partition_id: int, offset: int) -> None:
        self.check_partitions(topic_id, (partition_id,))

    def remove_partitions(self, record: RemovePartitionsRecord, offset: int) -> None:
        self.check_partitions(record.topic_id, record.partition_ids)
        live = self._existing(record.topic_id)
        for partition_id in record.partition_ids:
            live.pop(partition_id, None)

    def clear_elr(self, record: ClearElrRecord, offset: int) -> None:
        for topic_id in self._topic_ids_named(record.topic_name):
            live = self._existing(topic_id)
            for partition_id, old in live.items():
                live[partition_id] = partitions.without_elr(old)

    def remove_topic(self, record: RemoveTopicRecord) -> Topic:
        topic = super().remove_topic(record)
        self.live.pop(record.topic_id, None)
        return topic

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        live = self.live.get(topic_id)
        if live is None:
            live = {} if self.topic(topic_id) is None else self._existing(topic_id)
        return live.get(partition_id)

    def partitions(self, topic_id: Uuid) -> tuple[Partition, ...]:
        if self.topic(topic_id) is None:
            return ()
        live = self._existing(topic_id)
        ids = list(live)
        ordered = sorted(ids)  # nearly always they are in order
        return tuple(live.values() if ids == ordered else [live[each] for each in ordered])

    def apply(self) -> NoReturn:
        raise AssertionError("there is no image of these topics")

    def _existing(self, topic_id: Uuid) -> dict[int, Partition]:
        """Return the partitions of a topic by id.

        Raises:
            ContradictionError: there is no such topic.
        """
        live = self.live.get(topic_id)
        if live is None:
            base = self._touch(topic_id).partitions()
            live = self.live[topic_id] = {each.partition_id: each for each in base}
        return live


class UnversionedDelta(MetadataDelta):
    """A delta whose topics are `UnversionedTopics`; it cannot make an image."""

    topics: UnversionedTopics

    def __init__(self, image: MetadataImage) -> None:
        super().__init__(image, UnversionedTopics(image._topics))
