"""One topic with its partitions, and the changes to it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from records.base import Uuid
from records.errors import ContradictionError
from records.text import uuid_text
from replay.image import partition_list
from replay.image.partition_list import Partitions
from replay.image.partitions import Partition
from replay.image.placement import Placement, placement_of
from replay.image.versions import UNKNOWN, PartitionOffsets, merged_offsets


class Topic(msgspec.Struct, frozen=True, gc=False):
    """A topic. `name` excludes the namespace; `namespace_id` is None for the default namespace."""

    topic_id: Uuid
    name: str
    namespace_id: Uuid | None = None


class TopicEntry(msgspec.Struct, frozen=True, gc=False):
    """A topic, its partitions, and the versions of both."""

    topic: Topic
    partitions: Partitions = ()
    version: int = UNKNOWN
    offsets: PartitionOffsets = b""

    @property
    def partition_count(self) -> int:
        """Number of partitions."""
        return len(self.partitions)

    def passing(self) -> "TopicEntry":
        """Return the entry, for a caller that soon forgets it."""
        return self

    def placement(self) -> Placement:
        """Return where the partitions are."""
        return placement_of(self.partitions)

    def degraded(self, min_isr: int) -> Iterable[Partition]:
        """Return all partitions: to look at each is cheaper than to choose."""
        return self.partitions

    def values(self, fields: Sequence[str]) -> set[tuple[object, ...]] | None:
        """Return None: to look at the partitions themselves is cheaper than at their values."""
        return None


class DeferredEntry(ABC):
    """Stands for a `TopicEntry`, whose partitions are made when they are first read.

    Equal to that entry. `topic`, `version` and `partition_count` are the entry's.
    """

    __slots__ = ("_made", "partition_count", "topic", "version")

    def __init__(self, topic: Topic, version: int, partition_count: int) -> None:
        self.topic, self.version, self.partition_count = topic, version, partition_count
        self._made: TopicEntry | None = None

    @abstractmethod
    def make(self) -> TopicEntry:
        """Return the entry, made anew unless it is kept."""

    @abstractmethod
    def forget_source(self) -> None:
        """Drop what the entry is made from; it is kept from now on."""

    @abstractmethod
    def has_source_of(self, other: "Entry") -> bool:
        """True if both are made from the same, so that they are equal."""

    @abstractmethod
    def degraded(self, min_isr: int) -> Iterable[Partition]:
        """Return the partitions without a leader, those that lack a replica in their ISR, and those
        with fewer than `min_isr` in it; perhaps others, too, in any order. They are not kept.
        """

    @abstractmethod
    def values(self, fields: Sequence[str]) -> set[tuple[object, ...]] | None:
        """Return the different values that partitions have in some fields, if that is cheap."""

    @property
    def partitions(self) -> Partitions:
        """The topic's partitions, kept from now on."""
        return self._kept().partitions

    @property
    def offsets(self) -> PartitionOffsets:
        """The offsets of the partitions, which are kept from now on."""
        return self._kept().offsets

    def passing(self) -> TopicEntry:
        """Return the entry, for a caller that soon forgets it: it is not kept."""
        return self._made or self.make()

    def placement(self) -> Placement:
        """Return where the partitions are."""
        return self.passing().placement()

    def __eq__(self, other: object) -> bool:
        """True if the entries are equal."""
        if not isinstance(other, TopicEntry | DeferredEntry):
            return NotImplemented
        return different(self, other) is None

    __hash__ = None  # type: ignore[assignment]  # as that of an entry, which nobody needs

    def _kept(self) -> TopicEntry:
        # Threads that both make it make equal ones.
        made = self._made
        if made is None:
            made = self._made = self.make()
            self.forget_source()
        return made


Entry: TypeAlias = TopicEntry | DeferredEntry


def different(one: Entry, other: Entry) -> tuple[TopicEntry, TopicEntry] | None:
    """Return both entries if they differ, else None; each is made at most once."""
    if one is other or (isinstance(one, DeferredEntry) and one.has_source_of(other)):
        return None
    made = one.passing(), other.passing()
    return None if made[0] == made[1] else made


class TopicDelta:
    """Changes to one topic: its entry before, and the changed partitions and offsets.

    In `changes`, None stands for a removed partition. `versions` has the versions of changed
    partitions, `created` the creation offsets of partitions that were created or removed.
    """

    __slots__ = ("base", "changes", "created", "topic", "version", "versions")

    def __init__(self, base: Entry) -> None:
        self.base = base
        self.topic = base.topic
        self.version = base.version
        self.changes: dict[int, Partition | None] = {}
        self.versions: dict[int, int] = {}
        self.created: dict[int, int] = {}

    def find(self, partition_id: int) -> Partition | None:
        """Return the current state of a partition, None if there is none."""
        if partition_id in self.changes:
            return self.changes[partition_id]
        base = self.base.partitions
        return partition_list.find(base, partition_id) if base else None

    def existing(self, partition_id: int) -> Partition:
        """Return the current state of a partition.

        Raises:
            ContradictionError: there is none.
        """
        partition = self.find(partition_id)
        if partition is None:
            raise no_partition(self.topic.topic_id, partition_id)
        return partition

    def remove(self, partition_id: int) -> None:
        """Remove a partition; it need not exist."""
        self.changes[partition_id] = None
        self.versions[partition_id] = self.created[partition_id] = UNKNOWN

    def partitions(self) -> Partitions:
        """Return the current partitions."""
        base = self.base.partitions
        return partition_list.merged(base, self.changes) if self.changes else base

    def apply(self) -> TopicEntry:
        """Return the topic with the changes applied."""
        offsets = self.base.offsets
        if self.versions:
            offsets = merged_offsets(offsets, self.versions, self.created)
        return TopicEntry(self.topic, self.partitions(), self.version, offsets)


def no_partition(topic_id: Uuid, partition_id: int) -> ContradictionError:
    """Return the error for a record about a partition that does not exist in its topic."""
    text = uuid_text(topic_id)
    return ContradictionError(
        f"topic {text} has no partition {partition_id}", about=f"partition:@{text}/{partition_id}"
    )
