"""The stored form of an image's parts, and the image rebuilt from it.

The image's objects are stored with their fields by name, most partitions in the columns of their
topic. Renaming a field or changing its meaning requires a new FORMAT; a new field with a default
does not: older snapshots are read with the default. Names of parts are those of docs/digest.md;
partitions are stored with their topic.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from types import GenericAlias
from typing import Any, Self

import msgspec
from immutables import Map

from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS
from replay.image.provenance import Provenance
from replay.image.topic_entry import Entry
from replay.image.topics import TopicsImage
from replay.snapshot.chunks import Chunk, chunks_of
from replay.snapshot.shared_values import SharedValues
from replay.snapshot.stored_topic import LoadedTopic, StoredTopic, loaded_topics


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

    def decoded(self, part: str, plain: bytes) -> list[Any]:
        """Return the objects of one chunk, given as MessagePack; topics as `LoadedTopic`s.

        Raises:
            KeyError: there is no such part.
            msgspec.DecodeError: the content is not a list of objects of this part.
            ValueError, IndexError: as for `loaded_topics`.
        """
        if part == "topics":
            return loaded_topics(plain, self._shared)
        return _DECODERS[part].decode(plain)

    def decode(self, part: str, plain: bytes) -> None:
        """Add the objects of one chunk.

        Raises:
            KeyError, msgspec.DecodeError, ValueError, IndexError: as for `decoded`.
        """
        self.objects[part] += self.decoded(part, plain)

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
        return MetadataImage(provenance, _topics=_topics_image(self.objects["topics"]), **held)

    def chunks(self) -> Iterator[tuple[str, int, Chunk]]:
        """Yield the chunks to store: part name, position in the part, and content."""
        yield from _chunks(self.objects)


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


_DECODERS: dict[str, msgspec.msgpack.Decoder[list[Any]]] = {
    name: msgspec.msgpack.Decoder(GenericAlias(list, PARTS[name].object_type))
    for name in STORED
    if name != "topics"
}


def _topics_image(stored: Iterable[StoredTopic | LoadedTopic]) -> TopicsImage:
    entries: dict[Uuid, Entry] = {}
    ids: dict[Uuid | None, dict[str, Uuid]] = {}
    partition_count = 0
    for each in stored:
        topic = each.topic
        entries[topic.topic_id] = each.entry()
        ids.setdefault(topic.namespace_id, {})[topic.name] = topic.topic_id
        partition_count += each.partition_count
    ids_of_names = Map({namespace_id: Map(names) for namespace_id, names in ids.items()})
    return TopicsImage(Map(entries), ids_of_names, partition_count)
