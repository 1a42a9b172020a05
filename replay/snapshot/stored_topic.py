"""The stored form of a topic with its partitions, and its entry in an image.

A loaded topic stays in its stored form until its partitions are read: most of an image's partitions
never are, and making them is most of the work of loading a snapshot.
"""

from collections.abc import Iterable, Sequence
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
from replay.snapshot.columns import NO_COLUMNS, PartitionColumns, in_columns
from replay.snapshot.shared_values import SharedValues

_SAMPLE_SIZE_MAX_BYTES = 4 * 1_024
"""About 200 partitions; a chunk has up to 256 KiB."""

_UNREADABLE = (msgspec.DecodeError, ValueError, LookupError)

_partition_id = attrgetter("partition_id")

_Offsets = tuple[tuple[int, ...], tuple[int, ...] | None]
"""Versions and creation offsets, one of each a partition; None: these are equal to the versions."""


class _Body(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The partitions of a topic.

    Attributes:
        others: Partitions that are not in `columns`, ordered by id.
        offsets: MessagePack of the `_Offsets` of all partitions; empty: none is known.
    """

    columns: PartitionColumns = NO_COLUMNS
    others: tuple[Partition, ...] = ()
    offsets: bytes = b""


class StoredTopic(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A topic with its partitions.

    Attributes:
        partition_count: Number of partitions in `body`.
        body: MessagePack of a `_Body`, as a string of octets: a reader skips it, whatever its size.
        partitions: All partitions, ordered by id, in formats 1 and 2; `versions` and `created` are
            theirs, or empty if none is known.
    """

    topic: Topic
    partitions: tuple[Partition, ...] = ()
    version: int = UNKNOWN
    versions: tuple[int, ...] = ()
    created: tuple[int, ...] = ()
    partition_count: int = 0
    body: bytes = b""

    @classmethod
    def of(cls, entry: TopicEntry) -> Self:
        """Return the stored form of an image's topic."""
        partitions = tuple(entry.partitions)
        if not partitions:
            return cls(entry.topic, version=entry.version)
        plain, others = in_columns(partitions)
        versions, created = listed_offsets(entry.offsets, _ids(partitions))
        offsets: _Offsets = versions, None if created == versions else created
        body = _Body(
            PartitionColumns.of(plain),
            tuple(others),
            _encode(offsets) if entry.offsets else b"",
        )
        count = len(partitions)
        return cls(entry.topic, version=entry.version, partition_count=count, body=_encode(body))

    def entry(self, shared: SharedValues | None = None) -> TopicEntry:
        """Return the topic in the form used by an image.

        Args:
            shared: Equal values of partitions are the objects of these.

        Raises:
            msgspec.DecodeError, ValueError, LookupError: the partitions cannot be read.
        """
        found, versions, created = self.partitions, self.versions, self.created
        if self.body:
            body = _body_decoder.decode(self.body)
            made = body.columns.partitions(self.topic.topic_id, shared or SharedValues())
            found = tuple(merge(made, body.others, key=_partition_id) if body.others else made)
            if len(found) != self.partition_count:
                raise ValueError(f"{len(found)} partitions, expected {self.partition_count}")
            if body.offsets:
                versions, again = _offsets_decoder.decode(body.offsets)
                created = versions if again is None else again
        offsets = packed_offsets(_ids(found), versions, created)
        return TopicEntry(self.topic, partition_list(found), self.version, offsets)

    def values(self, fields: Sequence[str]) -> set[tuple[object, ...]] | None:
        """Return the different values that partitions have in some fields, in any order.

        Returns None if the partitions have to be made for this.

        Raises:
            msgspec.DecodeError, ValueError, LookupError: the partitions cannot be read.
        """
        body = _body_decoder.decode(self.body) if self.body else _NO_BODY
        found = body.columns.values(fields)
        if found is not None:
            found.update([tuple([getattr(p, field) for field in fields]) for p in body.others])
        return found

    def degraded(self, min_isr: int, shared: SharedValues) -> list[Partition]:
        """Return partitions as `DeferredEntry.degraded`; only these are made.

        Raises:
            msgspec.DecodeError, ValueError, LookupError: the partitions cannot be read.
        """
        body = _body_decoder.decode(self.body) if self.body else _NO_BODY
        places = body.columns.degraded(min_isr)
        return [*body.columns.partitions(self.topic.topic_id, shared, places), *body.others]

    def placement(self, shared: SharedValues) -> Placement:
        """Return where the partitions are.

        Raises:
            msgspec.DecodeError, ValueError, LookupError: the partitions cannot be read.
        """
        body = _body_decoder.decode(self.body) if self.body else _NO_BODY
        placement = body.columns.placement(self.topic.topic_id, shared)
        if not body.others:
            return placement
        return Placement(placement.held, placement.leaders, [*placement.others, *body.others])


class LoadedTopic(DeferredEntry):
    """A topic of a loaded snapshot, which keeps its stored form until its partitions are read."""

    __slots__ = ("_shared", "_stored")

    def __init__(self, stored: StoredTopic, shared: SharedValues) -> None:
        super().__init__(stored.topic, stored.version, stored.partition_count)
        # None once the entry is kept.
        self._stored: StoredTopic | None = stored
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
        # Another thread may keep the entry, and drop the stored form, at any time.
        stored = self._stored
        if stored is None:
            assert self._made is not None
            return self._made
        try:
            return stored.entry(self._shared)
        except _UNREADABLE as error:
            raise self._foreign(error) from error

    def forget_source(self) -> None:
        """Drop the stored form."""
        self._stored = None

    def has_source_of(self, other: Entry) -> bool:
        """True if both have the same stored form."""
        if not isinstance(other, LoadedTopic):
            return False
        stored = self._stored
        return stored is not None and stored == other._stored

    def placement(self) -> Placement:
        """Return where the partitions are; those that are settled are not made.

        Raises:
            CorruptLogError: as `make`.
        """
        stored = self._stored
        if stored is None:
            return self.make().placement()
        try:
            return stored.placement(self._shared)
        except _UNREADABLE as error:
            raise self._foreign(error) from error

    def degraded(self, min_isr: int) -> Sequence[Partition]:
        """Return partitions as `DeferredEntry.degraded`.

        Raises:
            CorruptLogError: as `make`.
        """
        stored = self._stored
        if stored is None:
            return tuple(self.make().partitions)
        try:
            return stored.degraded(min_isr, self._shared)
        except _UNREADABLE as error:
            raise self._foreign(error) from error

    def values(self, fields: Sequence[str]) -> set[tuple[object, ...]] | None:
        """Return the different values that partitions have in some fields, if that is cheap.

        Raises:
            CorruptLogError: as `make`.
        """
        stored = self._stored
        try:
            return None if stored is None else stored.values(fields)
        except _UNREADABLE as error:
            raise self._foreign(error) from error

    def _foreign(self, error: Exception) -> CorruptLogError:
        return CorruptLogError(
            f"topic {self.topic.name!r} of a snapshot was written by another release: {error}. "
            "Snapshots can be made anew from the log: `metalog snapshot prune --keep 0`, then "
            "`metalog snapshot create`"
        )


_NO_BODY = _Body()
_encode = msgspec.msgpack.encode
_body_decoder = msgspec.msgpack.Decoder(_Body)
_offsets_decoder = msgspec.msgpack.Decoder(_Offsets)
_topics_decoder = msgspec.msgpack.Decoder(list[StoredTopic])


def loaded_topics(plain: bytes, shared: SharedValues) -> list[LoadedTopic]:
    """Return the topics of a chunk, given as MessagePack.

    The partitions of one of them are made, to find a chunk of another release before it is used.

    Raises:
        msgspec.DecodeError, ValueError, LookupError: the content is not a list of topics, or its
            partitions cannot be read.
    """
    topics = _topics_decoder.decode(plain)
    if any(each.partitions for each in topics):
        topics = [StoredTopic.of(each.entry()) for each in topics]  # of an earlier format
    if topics:
        _sample(topics).entry(shared)
    return [LoadedTopic(each, shared) for each in topics]


def _sample(topics: list[StoredTopic]) -> StoredTopic:
    """Return the largest topic that is quickly decoded: it has most to say about its form."""
    sizes = [len(each.body) for each in topics]
    small = [size for size in sizes if size <= _SAMPLE_SIZE_MAX_BYTES]
    return topics[sizes.index(max(small) if small else min(sizes))]


def _ids(partitions: Iterable[Partition]) -> list[int]:
    return [partition.partition_id for partition in partitions]
