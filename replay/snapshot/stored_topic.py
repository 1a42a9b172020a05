"""The stored form of a topic with its partitions, and its entry in an image.

A loaded topic stays in its stored form until its partitions are read: most of an image's partitions
never are, and making them is most of the work of loading a snapshot.
"""

from collections.abc import Iterable
from heapq import merge
from operator import attrgetter
from typing import Self

import msgspec

from records.errors import CorruptLogError
from replay.image.partition_list import partition_list
from replay.image.partitions import Partition
from replay.image.placement import Placement
from replay.image.topic_entry import DeferredEntry, Entry, Topic, TopicEntry
from replay.image.versions import UNKNOWN, listed_offsets, packed_offsets
from replay.snapshot.columns import NO_COLUMNS, PartitionColumns, is_plain
from replay.snapshot.shared_values import SharedValues

_EMPTY = msgspec.Raw(msgspec.msgpack.encode(()))
_FIXARRAY, _FIXARRAY_MASK, _ARRAY_16 = 0x90, 0x0F, 0xDC

_SAMPLE_SIZE_MAX_BYTES = 4 * 1_024
"""About 130 partitions; a chunk has up to 256 KiB."""

_UNREADABLE = (msgspec.DecodeError, ValueError, IndexError)

_partition_id = attrgetter("partition_id")


class StoredTopic(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A topic with its partitions.

    Attributes:
        partitions: Partitions that are not in `columns`, ordered by id; up to format 2 all of them.
        versions: One offset per partition, or empty if none is known; so has `created`.
    """

    topic: Topic
    partitions: tuple[Partition, ...] = ()
    version: int = UNKNOWN
    versions: tuple[int, ...] = ()
    created: tuple[int, ...] = ()
    columns: PartitionColumns = NO_COLUMNS

    @classmethod
    def of(cls, entry: TopicEntry) -> Self:
        """Return the stored form of an image's topic."""
        partitions = tuple(entry.partitions)
        versions, created = listed_offsets(entry.offsets, _ids(partitions))
        return cls(
            entry.topic,
            tuple([each for each in partitions if not is_plain(each)]),
            entry.version,
            _known(versions),
            _known(created),
            PartitionColumns.of([each for each in partitions if is_plain(each)]),
        )

    @property
    def partition_count(self) -> int:
        """Number of partitions."""
        return len(self.partitions) + len(self.columns.replicas)

    @property
    def partition_ids(self) -> list[int]:
        """The ids of all partitions, ordered."""
        return sorted([*self.columns.partition_ids, *_ids(self.partitions)])

    def entry(self, shared: SharedValues | None = None) -> TopicEntry:
        """Return the topic in the form used by an image.

        Args:
            shared: Equal values of partitions are the objects of these.
        """
        found = self.columns.partitions(self.topic.topic_id, shared or SharedValues())
        if self.partitions:
            found = list(merge(found, self.partitions, key=_partition_id))
        offsets = packed_offsets(_ids(found), self.versions, self.created)
        return TopicEntry(self.topic, partition_list(found), self.version, offsets)


class LoadedTopic(DeferredEntry):
    """A topic of a loaded snapshot, which keeps its stored form until its partitions are read."""

    __slots__ = ("_content", "_shared")

    def __init__(self, head: "_Head", content: msgspec.Raw, shared: SharedValues) -> None:
        super().__init__(head.topic, head.version, head.partition_count)
        # A view of the whole chunk; None once the entry is kept.
        self._content: msgspec.Raw | None = content
        self._shared = shared

    def entry(self) -> Self:
        """Return the topic in the form used by an image."""
        return self

    def make(self) -> TopicEntry:
        """Decode the topic, unless its entry is kept.

        Raises:
            CorruptLogError: this release cannot read it. Its octets are those that were written:
                whoever loads a snapshot checks their hash, and reads a topic of each chunk.
        """
        # Another thread may keep the entry, and drop the content, at any time.
        content = self._content
        if content is None:
            assert self._made is not None
            return self._made
        try:
            return _entry(content, self._shared)
        except _UNREADABLE as error:
            raise self._foreign(error) from error

    def forget_source(self) -> None:
        """Drop the octets: they may be the last that keep those of the chunk."""
        self._content = None

    def has_source_of(self, other: Entry) -> bool:
        """True if both have the same octets."""
        if not isinstance(other, LoadedTopic):
            return False
        content = self._content
        return content is not None and content == other._content

    def placement(self) -> Placement:
        """Return where the partitions are, from the columns if these say enough.

        Raises:
            CorruptLogError: as `make`.
        """
        content = self._content
        if content is None:
            return self.make().placement()
        try:
            placed = _placed_decoder.decode(content)
        except msgspec.DecodeError as error:
            raise self._foreign(error) from error
        if placed.columns.are_settled:
            return Placement(placed.columns.replicas, placed.partitions)
        return self.make().placement()

    def _foreign(self, error: Exception) -> CorruptLogError:
        return CorruptLogError(
            f"topic {self.topic.name!r} of a snapshot was written by another release: {error}. "
            "Snapshots can be made anew from the log: `metalog snapshot prune --keep 0`, then "
            "`metalog snapshot create`"
        )


class _ColumnsHead(msgspec.Struct, frozen=True, gc=False, array_like=True):
    replicas: msgspec.Raw = _EMPTY


class _Head(msgspec.Struct, frozen=True, gc=False):
    """What is decoded of a `StoredTopic` when it is loaded."""

    topic: Topic
    partitions: msgspec.Raw = _EMPTY
    version: int = UNKNOWN
    columns: _ColumnsHead = _ColumnsHead()

    @property
    def partition_count(self) -> int:
        return array_length(self.partitions) + array_length(self.columns.replicas)


class _PlacedColumns(msgspec.Struct, frozen=True, gc=False, array_like=True):
    replicas: tuple[tuple[int, ...], ...] = ()
    ids: msgspec.Raw = _EMPTY
    isrs: tuple[tuple[int, ...], ...] = ()
    leaders: tuple[int, ...] = ()

    @property
    def are_settled(self) -> bool:
        """True if first replicas lead all partitions, and all replicas are in sync."""
        return not self.leaders and (
            not self.isrs or list(map(len, self.isrs)) == list(map(len, self.replicas))
        )


class _Placed(msgspec.Struct, frozen=True, gc=False):
    """What is decoded of a `StoredTopic` for its placement: half of the time."""

    partitions: tuple[Partition, ...] = ()
    columns: _PlacedColumns = _PlacedColumns()


_placed_decoder = msgspec.msgpack.Decoder(_Placed)
_topic_decoder = msgspec.msgpack.Decoder(StoredTopic)
_heads_decoder = msgspec.msgpack.Decoder(list[_Head])
_contents_decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])


def loaded_topics(plain: bytes, shared: SharedValues) -> list[LoadedTopic]:
    """Return the topics of a chunk, given as MessagePack, whose octets they keep.

    One of them is decoded, to find a chunk of another release before it is used.

    Raises:
        msgspec.DecodeError, ValueError, IndexError: the content is not a list of topics, or its
            partitions cannot be read.
    """
    heads, contents = _heads_decoder.decode(plain), _contents_decoder.decode(plain)
    if contents:
        _entry(_sample(contents), shared)
    return [LoadedTopic(*each, shared) for each in zip(heads, contents, strict=True)]


def _sample(contents: list[msgspec.Raw]) -> msgspec.Raw:
    """Return the largest topic that is quickly decoded: it has most to say about its form."""
    sizes = [len(memoryview(each)) for each in contents]
    small = [size for size in sizes if size <= _SAMPLE_SIZE_MAX_BYTES]
    return contents[sizes.index(max(small) if small else min(sizes))]


def _entry(content: msgspec.Raw, shared: SharedValues) -> TopicEntry:
    return _topic_decoder.decode(content).entry(shared)


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


def _ids(partitions: Iterable[Partition]) -> list[int]:
    return [partition.partition_id for partition in partitions]


def _known(offsets: tuple[int, ...]) -> tuple[int, ...]:
    return () if offsets.count(UNKNOWN) == len(offsets) else offsets
