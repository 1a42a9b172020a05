"""Replays a log without making an image of its topics after each batch.

To copy the changed topics into an image is a fifth of the work of a check of a whole log. Here the
topics are changed in place, and what a batch changed is noted with the values before it.
"""

from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, cast

import msgspec

from metadata_log.format.batch import Batch
from records.base import Uuid
from records.partitions import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemovePartitionsRecord,
)
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.topics import Topic
from replay.incidents.unversioned_topics import UnversionedTopics
from replay.loader import Replayer


class LiveTopics(UnversionedTopics):
    """Topics that are changed in place, and the changes since the last call of `begin`.

    These are answered as a `TopicsDelta` that had begun there would answer them; `changed` may also
    have topics that did not change.
    """

    def __init__(self, image: MetadataImage) -> None:
        super().__init__(image._topics)
        self.begin()

    def begin(self) -> None:
        """Forget the changes so far."""
        # By changed topic: its partitions before, as far as they were touched.
        self._before: dict[Uuid, dict[int, Partition | None]] = {}
        self._topics_before: dict[Uuid, Topic | None] = {}
        self._resized: set[Uuid] = set()

    @property
    def changed(self) -> KeysView[Uuid]:
        return self._before.keys()

    @property
    def renamed(self) -> KeysView[Uuid]:
        return self._topics_before.keys()

    def topic_before(self, topic_id: Uuid) -> Topic | None:
        before = self._topics_before
        return before[topic_id] if topic_id in before else self.topic(topic_id)

    def changed_partitions(self, topic_id: Uuid) -> Mapping[int, Partition | None]:
        live = self.live.get(topic_id)
        return {} if live is None else {each: live.get(each) for each in self._before[topic_id]}

    def partitions_before(self, topic_id: Uuid) -> Mapping[int, Partition | None]:
        return self._before[topic_id]

    def may_have_new_members(self, topic_id: Uuid) -> bool:
        return topic_id in self._resized

    def change_partition(self, record: PartitionChangeRecord, offset: int) -> None:
        before, _ = self.change(record)
        noted = self._before.get(record.topic_id)
        if noted is None:
            noted = self._before[before.topic_id] = {}
        noted.setdefault(before.partition_id, before)

    def set_partition(self, record: PartitionRecord, offset: int) -> None:
        before, after = self.set(record)
        self._resized.add(after.topic_id)
        self._note(after.topic_id).setdefault(after.partition_id, before)

    def check_partitions(self, topic_id: Uuid, partition_ids: Iterable[int]) -> None:
        super().check_partitions(topic_id, partition_ids)
        self._note(topic_id)

    def remove_partitions(self, record: RemovePartitionsRecord, offset: int) -> None:
        self._note_all(record.topic_id)
        super().remove_partitions(record, offset)

    def clear_elr(self, record: ClearElrRecord, offset: int) -> None:
        for topic_id in self._topic_ids_named(record.topic_name):
            noted = self._note(topic_id)
            for each in self.partitions(topic_id):
                if each.eligible_leader_replicas or each.last_known_elr:
                    noted.setdefault(each.partition_id, each)
        super().clear_elr(record, offset)

    def create_topic(self, record: TopicRecord, offset: int) -> None:
        super().create_topic(record, offset)
        self._note(record.topic_id)
        self._topics_before.setdefault(record.topic_id, None)
        self._existing(record.topic_id)

    def remove_topic(self, record: RemoveTopicRecord) -> Topic:
        self._note_all(record.topic_id)
        topic = super().remove_topic(record)
        self._topics_before.setdefault(record.topic_id, topic)
        return topic

    def move_topic(self, record: MoveTopicRecord, offset: int) -> tuple[Topic, Topic]:
        old, new = super().move_topic(record, offset)
        self._note(record.topic_id)
        self._topics_before.setdefault(record.topic_id, old)
        return old, new

    def topics(self) -> Iterator[Topic]:
        """Iterate over the current topics, in any order."""
        return filter(None, map(self.topic, self.topic_ids()))

    def apply(self) -> Any:
        return None  # so that no image can be asked for its topics

    def _note(self, topic_id: Uuid) -> dict[int, Partition | None]:
        return self._before.setdefault(topic_id, {})

    def _note_all(self, topic_id: Uuid) -> None:
        """Note the partitions of a topic, of which any may be removed."""
        live = self._existing(topic_id)
        noted = self._note(topic_id)
        for partition_id, partition in live.items():
            noted.setdefault(partition_id, partition)
        self._resized.add(topic_id)


class LiveImage:
    """The current state of a `LiveReplayer`, with the methods of an image that checks call.

    Its topics change with the next batch. A method that reads topics and is missing here fails.
    """

    def __init__(self, image: MetadataImage, topics: LiveTopics) -> None:
        self._image, self._topics = image, topics
        self.topics, self.topic = topics.topics, topics.topic
        self.partitions, self.partition = topics.partitions, topics.partition
        self.full_name, self.namespace = image.full_name, image.namespace
        self.broker, self.pending_removals = image.broker, image.pending_removals

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the image, which has no topics."""
        return getattr(self._image, name)

    def topic_by_name(self, name: str, namespace_id: Uuid | None = None) -> Topic | None:
        """Return the topic with this name in a namespace (None: the default namespace)."""
        topic_id = self._topics.topic_id_named(name, namespace_id)
        return None if topic_id is None else self._topics.topic(topic_id)

    def topic_by_full_name(self, full_name: str) -> Topic | None:
        """Return the topic with a full name."""
        return MetadataImage.topic_by_full_name(cast(MetadataImage, self), full_name)


class LiveReplayer(Replayer):
    """A replayer whose topics are those of the newest batch, also in earlier images.

    Its delta has the changes of topics until the next call of `replay` after `image`.
    """

    def __init__(self, start: MetadataImage, *, next_offset: int | None = None) -> None:
        """Continue from the image `start`; `next_offset` is as for `Replayer`."""
        self._topics, self._begins = LiveTopics(start), True
        super().__init__(msgspec.structs.replace(start, _topics=None), next_offset=next_offset)

    def replay(self, batch: Batch, up_to: int | None = None) -> None:
        if self._begins:
            self._topics.begin()
            self._begins = False
        super().replay(batch, up_to)

    def image(self) -> MetadataImage:
        """Return the image of all records applied, as far as a `LiveImage` is one."""
        return cast(MetadataImage, LiveImage(super().image(), self._topics))

    def _delta_of(self, image: MetadataImage) -> MetadataDelta:
        self._begins = True
        return MetadataDelta(image, topics=self._topics)
