"""The stored form of an image's parts, and the image rebuilt from it.

The image's objects are stored with their fields by name. Renaming a field or changing its meaning
requires a new FORMAT; a new field with a default does not: older snapshots are read with the
default. Names of parts are those of docs/digest.md; partitions are stored with their topic.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from types import GenericAlias
from typing import Any, Self

import msgspec
from immutables import Map

from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.partition_list import partition_list
from replay.image.partitions import Partition
from replay.image.parts import PARTS
from replay.image.provenance import Provenance
from replay.image.topics import Topic, TopicEntry, TopicsImage
from replay.image.versions import UNKNOWN, listed_offsets, packed_offsets
from replay.snapshot.chunks import Chunk, chunks_of
from replay.snapshot.shared_values import SharedValues


class StoredTopic(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A topic with its partitions, ordered by id.

    `versions` and `created` have one offset per partition, or are empty if none is known.
    """

    topic: Topic
    partitions: tuple[Partition, ...]
    version: int = UNKNOWN
    versions: tuple[int, ...] = ()
    created: tuple[int, ...] = ()

    @classmethod
    def of(cls, entry: TopicEntry) -> Self:
        """Return the stored form of an image's topic."""
        partitions = tuple(entry.partitions)
        versions, created = listed_offsets(entry.offsets, _ids(partitions))
        return cls(entry.topic, partitions, entry.version, _known(versions), _known(created))

    def entry(self) -> TopicEntry:
        """Return the topic in the form used by an image."""
        offsets = packed_offsets(_ids(self.partitions), self.versions, self.created)
        return TopicEntry(self.topic, partition_list(self.partitions), self.version, offsets)


def _ids(partitions: Iterable[Partition]) -> list[int]:
    return [partition.partition_id for partition in partitions]


def _known(offsets: tuple[int, ...]) -> tuple[int, ...]:
    return () if offsets.count(UNKNOWN) == len(offsets) else offsets


class Parts:
    """The objects of an image by part, in any order."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Any]] = {part: [] for part in STORED}
        self._shared = SharedValues()

    @classmethod
    def differing(cls, old: MetadataImage, new: MetadataImage) -> tuple[Self, Self]:
        """Return the objects of `old` that `new` lacks or has changed, and the reverse.

        O(objects), but fast for objects that the two images share.
        """
        before, after = cls(), cls()
        for name in STORED:
            if name != "topics":
                before.objects[name] += PARTS[name].changed(new, old)
                after.objects[name] += PARTS[name].changed(old, new)
        for parts, entries in zip((before, after), old.topic_differences(new), strict=True):
            parts.objects["topics"] += map(StoredTopic.of, entries)
        return before, after

    @staticmethod
    def decoded(part: str, plain: bytes) -> list[Any]:
        """Return the objects of one chunk, given as MessagePack.

        Raises:
            KeyError: there is no such part.
            msgspec.DecodeError: the content is not a list of objects of this part.
        """
        return _DECODERS[part].decode(plain)

    def decode(self, part: str, plain: bytes) -> None:
        """Add the objects of one chunk.

        Raises:
            KeyError, msgspec.DecodeError: as for `decoded`.
        """
        objects = self.decoded(part, plain)
        for each in objects if part == "topics" else ():
            self._share(each)
        self.objects[part] += objects

    def image(self, provenance: Provenance) -> MetadataImage:
        """Build the image of these objects: O(topics + other objects).

        Fills the image's maps directly: the objects come from an image, so they are consistent
        without replay rules.
        """
        held = {
            f"_{PARTS[name].field or name}": PARTS[name].held(objects)
            for name, objects in self.objects.items()
            if name != "topics"
        }
        return MetadataImage(provenance, _topics=self._topics(), **held)

    def chunks(self) -> Iterator[tuple[str, int, Chunk]]:
        """Yield the chunks to store: part name, position in the part, and content."""
        yield from _chunks(self.objects)

    def _share(self, stored: StoredTopic) -> None:
        self._shared.share(stored.topic.topic_id, stored.partitions)

    def _topics(self) -> TopicsImage:
        return topics_image(self.objects["topics"])


def chunks_of_image(image: MetadataImage) -> Iterator[tuple[str, int, Chunk]]:
    """Yield the chunks of a whole image, like `Parts.chunks`: O(topics + other objects).

    Topics are converted one at a time, because the garbage collector would visit every element of a
    list of all topics.
    """
    topics = map(StoredTopic.of, image.topic_entries())
    yield from _chunks(
        {name: topics if name == "topics" else PARTS[name].objects(image) for name in STORED}
    )


def _chunks(objects: Mapping[str, Iterable[Any]]) -> Iterator[tuple[str, int, Chunk]]:
    for part, found in objects.items():
        for ordinal, chunk in enumerate(chunks_of(found, STORED[part])):
            yield part, ordinal, chunk


STORED: dict[str, Callable[[Any], object]] = {
    name: part.key_of for name, part in PARTS.items() if name != "partitions"
} | {"topics": attrgetter("topic.topic_id")}
"""For each stored part, the function that returns an object's key, which never changes."""


def _stored_type(part: str) -> type[msgspec.Struct]:
    return StoredTopic if part == "topics" else PARTS[part].object_type


_DECODERS: dict[str, msgspec.msgpack.Decoder[list[Any]]] = {
    name: msgspec.msgpack.Decoder(GenericAlias(list, _stored_type(name))) for name in STORED
}


def topics_image(stored: Iterable[StoredTopic]) -> TopicsImage:
    """Build the image of stored topics."""
    entries: dict[Uuid, TopicEntry] = {}
    ids: dict[Uuid | None, dict[str, Uuid]] = {}
    partition_count = 0
    for each in stored:
        topic = each.topic
        entries[topic.topic_id] = each.entry()
        ids.setdefault(topic.namespace_id, {})[topic.name] = topic.topic_id
        partition_count += len(each.partitions)
    ids_of_names = Map({namespace_id: Map(names) for namespace_id, names in ids.items()})
    return TopicsImage(Map(entries), ids_of_names, partition_count)
