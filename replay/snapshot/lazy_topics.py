"""The topics of a snapshot, whose partitions are decoded only when they are read.

Used to read little from each of many snapshots: most queries read few of an image's partitions, and
decoding the partitions is most of the work of loading a snapshot.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, cast

import msgspec

from records.base import Uuid
from replay.image import partition_list
from replay.image.partition_list import Partitions
from replay.image.partitions import Partition
from replay.image.topics import Topic, TopicsImage
from replay.image.versions import UNKNOWN
from replay.snapshot.parts import Parts, StoredTopic, topics_image

_EMPTY = msgspec.Raw(msgspec.msgpack.encode(()))
_FIXARRAY, _FIXARRAY_MASK, _ARRAY_16 = 0x90, 0x0F, 0xDC

_partitions_decoder = msgspec.msgpack.Decoder(tuple[Partition, ...])
_offsets_decoder = msgspec.msgpack.Decoder(tuple[int, ...])


class LazyTopic(msgspec.Struct, frozen=True, gc=False):
    """A `StoredTopic` whose partitions and their offsets are not decoded yet."""

    topic: Topic
    partitions: msgspec.Raw
    version: int = UNKNOWN
    versions: msgspec.Raw = _EMPTY
    created: msgspec.Raw = _EMPTY

    def stored(self) -> StoredTopic:
        """Return the completely decoded topic.

        Raises:
            msgspec.DecodeError: a release with another format wrote the topic.
        """
        return StoredTopic(
            self.topic,
            _partitions_decoder.decode(self.partitions),
            self.version,
            _offsets_decoder.decode(self.versions),
            _offsets_decoder.decode(self.created),
        )


_topics_decoder = msgspec.msgpack.Decoder(list[LazyTopic])


class LazyParts(Parts):
    """The objects of an image by part; topics are instances of `LazyTopic`."""

    @staticmethod
    def decoded(part: str, plain: bytes) -> list[Any]:
        """Return the objects of one chunk, like `Parts.decoded`."""
        return _topics_decoder.decode(plain) if part == "topics" else Parts.decoded(part, plain)

    def _share(self, stored: StoredTopic) -> None:
        """Do nothing: the partitions are not decoded yet."""

    def _topics(self) -> TopicsImage:
        return cast(TopicsImage, LazyTopics(self.objects["topics"]))


class LazyTopics:
    """The topics of a snapshot, with the methods of `TopicsImage`.

    Methods that are not defined here decode all topics. Any method may raise msgspec.DecodeError if
    a partition was written by a release with another format.
    """

    def __init__(self, topics: Iterable[LazyTopic]) -> None:
        self._topics = {each.topic.topic_id: each for each in topics}
        self._partitions: dict[Uuid, Partitions] = {}

    def __getattr__(self, name: str) -> Any:
        """Decode all topics and return an attribute of their `TopicsImage`."""
        return getattr(self.whole, name)

    @cached_property
    def whole(self) -> TopicsImage:
        """The completely decoded topics."""
        return topics_image(each.stored() for each in self._topics.values())

    @property
    def topic_count(self) -> int:
        """Number of topics."""
        return len(self._topics)

    @cached_property
    def partition_count(self) -> int:
        """Number of partitions of all topics."""
        return sum(array_length(each.partitions) for each in self._topics.values())

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the topic with this id."""
        found = self._topics.get(topic_id)
        return None if found is None else found.topic

    def topic_by_name(self, name: str, namespace_id: Uuid | None) -> Topic | None:
        """Return the topic with this name in a namespace."""
        return self._by_name.get((namespace_id, name))

    def topics(self) -> Iterator[Topic]:
        """Iterate over all topics, in any order."""
        return (each.topic for each in self._topics.values())

    def partitions(self, topic_id: Uuid) -> Partitions:
        """Return a topic's partitions, ordered by id; none for an unknown topic."""
        found = self._partitions.get(topic_id)
        if found is None:
            topic = self._topics.get(topic_id)
            if topic is None:
                return ()
            decoded = _partitions_decoder.decode(topic.partitions)
            found = self._partitions[topic_id] = partition_list.partition_list(decoded)
        return found

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        """Return one partition."""
        return partition_list.find(self.partitions(topic_id), partition_id)

    @cached_property
    def _by_name(self) -> dict[tuple[Uuid | None, str], Topic]:
        topics = (each.topic for each in self._topics.values())
        return {(topic.namespace_id, topic.name): topic for topic in topics}


def array_length(raw: msgspec.Raw) -> int:
    """Return the number of elements of a MessagePack array, from its first bytes.

    Raises:
        msgspec.DecodeError: the value is not an array.
    """
    head = bytes(memoryview(raw)[:5])
    if head[0] & ~_FIXARRAY_MASK == _FIXARRAY:
        return head[0] & _FIXARRAY_MASK
    if head[0] not in (_ARRAY_16, _ARRAY_16 + 1):
        raise msgspec.DecodeError(f"byte {head[0]:#04x} begins no array")
    return int.from_bytes(head[1:3] if head[0] == _ARRAY_16 else head[1:5])
