"""Versions of objects: the offset of the last record that touched each one.

And for partitions the offset of the record that created them: a partition id that was removed and
comes back has the same topic id, so only this offset tells the old partition from the new.

Versions say where records stand, not what they mean: they are beside the state and outside the
digest. Partitions are many, so theirs are packed: 16 bytes each, in chunks that are copied when
one of them changes.
"""

import struct
from array import array
from collections.abc import Iterable

import msgspec
from immutables import Map

from records.base import Uuid
from replay.image.changes import MapDelta
from replay.image.configs import ConfigResource

UNKNOWN = -1
"""No record of the kept history says it."""

_VERSION, _CREATED = range(2)
_FIELDS = 2
_OFFSET = struct.Struct("=q")
_CHUNK_BITS = 8
_IN_CHUNK = (1 << _CHUNK_BITS) - 1


class TopicVersions(msgspec.Struct, frozen=True, gc=False):
    """Version of a topic; versions and creations of its partitions.

    A chunk holds two offsets for each of 256 partition ids, and ends with the last one known.
    """

    version: int = UNKNOWN
    # Nearly all topics have no other chunk.
    first: bytes = b""
    others: Map[int, bytes] = Map()

    def chunk(self, number: int) -> bytes:
        return self.others.get(number, b"") if number else self.first

    def offset(self, partition_id: int, field: int) -> int:
        chunk = self.chunk(partition_id >> _CHUNK_BITS)
        at = ((partition_id & _IN_CHUNK) * _FIELDS + field) * _OFFSET.size
        if at >= len(chunk):
            return UNKNOWN
        offset: int = _OFFSET.unpack_from(chunk, at)[0]
        return offset

    @classmethod
    def of(
        cls, version: int, ids: Iterable[int], versions: Iterable[int], created: Iterable[int]
    ) -> "TopicVersions":
        """Pack versions and creations of partitions, each in the order of their ids."""
        topic = _TopicDelta(cls(version))
        for partition_id, touched_at, created_at in zip(ids, versions, created, strict=False):
            topic.set(partition_id, _VERSION, touched_at)
            topic.set(partition_id, _CREATED, created_at)
        return topic.apply()


_NO_VERSIONS = TopicVersions()


class VersionsImage(msgspec.Struct, frozen=True, gc=False):
    """Versions of the objects of one image; UNKNOWN for what is not there."""

    _topics: Map[Uuid, TopicVersions] = Map()
    _namespaces: Map[Uuid, int] = Map()
    _configs: Map[ConfigResource, int] = Map()

    def topic(self, topic_id: Uuid) -> int:
        """Return the version of a topic; it moves with its name and with which partitions exist."""
        return self._topics.get(topic_id, _NO_VERSIONS).version

    def partition(self, topic_id: Uuid, partition_id: int) -> int:
        """Return the version of a partition."""
        return self._topics.get(topic_id, _NO_VERSIONS).offset(partition_id, _VERSION)

    def created(self, topic_id: Uuid, partition_id: int) -> int:
        """Return the offset of the record that created a partition."""
        return self._topics.get(topic_id, _NO_VERSIONS).offset(partition_id, _CREATED)

    def namespace(self, namespace_id: Uuid) -> int:
        """Return the version of a namespace."""
        return self._namespaces.get(namespace_id, UNKNOWN)

    def config(self, resource: ConfigResource) -> int:
        """Return the version of a config resource, over all of its keys."""
        return self._configs.get(resource, UNKNOWN)


class VersionsDelta:
    """Changes of versions. Offsets grow, so a version never goes back."""

    def __init__(self, image: VersionsImage) -> None:
        self._image = image
        # Each touched topic; None when it was removed.
        self._topics: dict[Uuid, _TopicDelta | None] = {}
        self._namespaces = MapDelta(image._namespaces)
        self._configs = MapDelta(image._configs)

    def create_topic(self, topic_id: Uuid, offset: int) -> None:
        """Take a new topic in."""
        self._topics[topic_id] = _TopicDelta(TopicVersions(offset))

    def touch_topic(self, topic_id: Uuid, offset: int) -> None:
        """Note that a record touched a topic itself."""
        topic = self._topics.get(topic_id) or self._open(topic_id)
        topic.version = max(topic.version, offset)

    def remove_topic(self, topic_id: Uuid) -> None:
        """Forget a topic and its partitions."""
        self._topics[topic_id] = None

    def touch_partition(self, topic_id: Uuid, partition_id: int, offset: int) -> None:
        """Note that a record touched a partition."""
        topic = self._topics.get(topic_id) or self._open(topic_id)
        try:
            topic.chunks[partition_id >> _CHUNK_BITS][(partition_id & _IN_CHUNK) * _FIELDS] = offset
        except LookupError:
            topic.set(partition_id, _VERSION, offset)

    def create_partition(self, topic_id: Uuid, partition_id: int, offset: int) -> None:
        """Take a new partition in; its topic is touched as well."""
        topic = self._topics.get(topic_id) or self._open(topic_id)
        topic.set(partition_id, _VERSION, offset)
        topic.set(partition_id, _CREATED, offset)
        if offset > topic.version:
            topic.version = offset

    def restore_partition(
        self, topic_id: Uuid, partition_id: int, version: int, created: int
    ) -> None:
        """Take a partition in as a base checkpoint or a snapshot kept it."""
        topic = self._topics.get(topic_id) or self._open(topic_id)
        topic.set(partition_id, _VERSION, version)
        topic.set(partition_id, _CREATED, created)

    def remove_partitions(self, topic_id: Uuid, ids: Iterable[int], offset: int) -> None:
        """Forget partitions of a topic."""
        for partition_id in ids:
            self.create_partition(topic_id, partition_id, UNKNOWN)
        self.touch_topic(topic_id, offset)

    def set_namespace(self, namespace_id: Uuid, offset: int) -> None:
        """Take a namespace in."""
        self._namespaces.put(namespace_id, offset)

    def remove_namespace(self, namespace_id: Uuid) -> None:
        """Forget a namespace."""
        self._namespaces.take(namespace_id)

    def set_config(self, resource: ConfigResource, offset: int) -> None:
        """Note that a record touched the keys of a resource."""
        self._configs.put(resource, offset)

    def remove_config(self, resource: ConfigResource) -> None:
        """Forget a resource that has no keys left."""
        self._configs.take(resource)

    def apply(self) -> VersionsImage:
        """Return the next image; what was not touched is shared."""
        topics = self._image._topics
        if self._topics:
            changed = topics.mutate()
            for topic_id, delta in self._topics.items():
                if delta is None:
                    changed.pop(topic_id, None)
                else:
                    changed[topic_id] = delta.apply()
            topics = changed.finish()
        return VersionsImage(topics, self._namespaces.apply(), self._configs.apply())

    def _open(self, topic_id: Uuid) -> "_TopicDelta":
        topic = _TopicDelta(self._image._topics.get(topic_id, _NO_VERSIONS))
        self._topics[topic_id] = topic
        return topic


class _TopicDelta:
    """One touched topic: the versions before, and the chunks that change, open for writing."""

    __slots__ = ("base", "chunks", "version")

    def __init__(self, base: TopicVersions) -> None:
        self.base = base
        self.version = base.version
        # Version and creation of one partition id after the other.
        self.chunks: dict[int, array[int]] = {}

    def set(self, partition_id: int, field: int, offset: int) -> None:
        number, at = partition_id >> _CHUNK_BITS, (partition_id & _IN_CHUNK) * _FIELDS
        chunk = self.chunks.get(number)
        if chunk is None:
            chunk = self.chunks[number] = array("q", self.base.chunk(number))
        if at >= len(chunk):
            chunk.extend([UNKNOWN] * (at + _FIELDS - len(chunk)))
        chunk[at + field] = offset

    def apply(self) -> TopicVersions:
        first, others = self.base.first, self.base.others
        for number, chunk in self.chunks.items():
            packed = _packed(chunk)
            if number == 0:
                first = packed
            elif packed:
                others = others.set(number, packed)
            elif number in others:
                others = others.delete(number)
        return TopicVersions(self.version, first, others)


def _packed(chunk: "array[int]") -> bytes:
    """Return a chunk without unknown offsets at its end, so that equal versions are equal bytes."""
    end = len(chunk)
    while end and chunk[end - 1] == chunk[end - 2] == UNKNOWN:
        end -= _FIELDS
    return chunk[:end].tobytes()
