"""Effects: what each record of a log changed.

A record is applied by its rule, and the changed objects are read from the delta, so no rule is
implemented twice. Invariants:

- An effect has every object that its record changed. It may also have unchanged objects, with equal
values before and after.
- Its objects are ordered by kind, as in `KINDS`, and each occurs once. The order is the same in
  each process.
- Values are those of `Kind.value` immediately before and after the record, whether or not images
  were made.
- `before` and `after` give the touched objects their names at that time. Other objects in these
  images may lack recent changes of partitions and configs: most records change one partition or one
  config, and making an image for each would take most of the time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from records import control, partitions
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import ContradictionError
from records.topics import TopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.parts import PARTS
from replay.image.provenance import Provenance
from replay.image.topics import Topic
from replay.loader import BatchSource
from replay.time_travel.kinds import CLUSTER_PARTS, KINDS, Key, Kind, TopicValue
from replay.transactions import MARKERS, Resolved, Transactions, rows_within

_KIND_OF_FIELD = {
    PARTS[part].field or PARTS[part].name: kind.name
    for kind in KINDS.values()
    for part in kind.parts
}
_ORDER = {name: place for place, name in enumerate(KINDS)}
# One record may change many of them, which the delta keeps in no order.
_SORTED = frozenset({"voter", "partition"})
_TOPIC, _PARTITION = KINDS["topic"], KINDS["partition"]

OF_A_PARTITION: frozenset[type[Record]] = frozenset(
    {partitions.PartitionRecord, partitions.PartitionChangeRecord}
)
"""The record types that set or change one partition."""

WITHOUT_EFFECT: frozenset[type[Record]] = MARKERS | {
    *(control.NoOpRecord, control.NoOpRunRecord, control.UnknownRecord),
    *(control.LeaderChangeMessage, control.SnapshotHeaderRecord, control.SnapshotFooterRecord),
}
"""The record types that change no object."""


class Touched(NamedTuple):
    """An object that a record touched, with its values before and after (None: absent)."""

    kind: Kind
    key: Any
    before: Any
    after: Any


class Effect(msgspec.Struct, frozen=True, gc=False):
    """A record, and what it changed.

    Attributes:
        before, after: Images around the record; see the invariants above.
        closed_by: The record that ended or aborted the transaction of this record; None outside a
            transaction.
        in_effect: False for a record of an aborted transaction; the changes are then those that it
            would have made.
    """

    row: Envelope
    touched: list[Touched]
    before: MetadataImage
    after: MetadataImage
    closed_by: Envelope | None = None
    in_effect: bool = True

    @property
    def offset(self) -> int:
        """The offset at which the record takes effect."""
        return (self.closed_by or self.row).offset


class Effects:
    """Applies the records of a log one by one; can continue when the log has grown."""

    def __init__(self, image: MetadataImage) -> None:
        """Start from an image, which must be outside a transaction."""
        self._next = image.provenance.next_offset
        self._transactions = Transactions()
        self._image = image
        self._delta = MetadataDelta(image)
        # The delta has changes that are not in the image.
        self._is_ahead = False
        # It may have changes of other objects than partitions and configs.
        self._is_stale = False
        # By topic, the number of partitions created since the image.
        self._created: dict[Uuid, int] = {}

    @property
    def image(self) -> MetadataImage:
        """The image after the last record; its provenance has no position."""
        if self._is_ahead:
            self._advance()
        return self._image

    @property
    def named(self) -> MetadataImage:
        """An image with all current names; may lack recent changes of partitions and configs."""
        if self._is_stale:
            self._advance()
        return self._image

    def until(
        self,
        source: BatchSource,
        to_offset: int,
        progress: Callable[[int], None] | None = None,
        *,
        aborted: bool = False,
    ) -> Iterator[Effect]:
        """Yield the effects of the next records up to `to_offset` (exclusive), in order of effect.

        The effects of a transaction's records are yielded when it ends or is aborted.

        Args:
            progress: Called with the end offset of each batch read.
            aborted: Also yield what the records of aborted transactions would have changed.

        Raises:
            CorruptLogError: a record contradicts the state before it; names the offset.
        """
        first = max(self._next, source.history_start)
        self._next = max(first, to_offset)
        return self._until(source, first, to_offset, progress, aborted)

    def of_rows(self, rows: Sequence[Envelope], *, aborted: bool = False) -> Iterator[Effect]:
        """Yield the effects of the log's next rows, like `until`, for callers that read the log.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        for found in self._transactions.resolved(rows):
            if found.in_effect:
                for row in found.rows:
                    yield self.of(row, found.closed_by)
            elif aborted:
                yield from self.of_aborted(found)

    def of(self, row: Envelope, closed_by: Envelope | None = None) -> Effect:
        """Apply a record outside any transaction, or of a committed one, and return its effect.

        Args:
            closed_by: The record that ended the transaction, if any.

        Raises:
            ContradictionError: the record contradicts the state before it; it may have been applied
                in part.
        """
        record_type = type(row.payload)
        if record_type in OF_A_PARTITION:
            named = self.named
            touched = self._touched_by_partition(*self.of_partition(row))
            return Effect(row, touched, named, named, closed_by)
        if record_type in WITHOUT_EFFECT:
            self._delta.replay(row)
            self._is_ahead = True
            return Effect(row, [], self._image, self._image, closed_by)
        before = self.image
        self._delta.replay(row)
        keys = touched_keys(self._delta)
        after = self._advance()
        return Effect(row, list(_values(keys, before, after)), before, after, closed_by)

    def of_partition(self, row: Envelope) -> tuple[Partition | None, Partition]:
        """Apply a record of a type in OF_A_PARTITION; return the partition before and after.

        Most records of a log are of these types; `of` takes twice as long as this method.

        Raises:
            ContradictionError: as `of`.
        """
        self._delta.replay(row)
        self._is_ahead = True
        topics = self._delta.topics
        old, new = topics.before, topics.after
        assert new is not None, "the record has just set it"
        if old is None:
            self._created[new.topic_id] = self._created.get(new.topic_id, 0) + 1
        return old, new

    def of_config(self, row: Envelope) -> tuple[str | None, str | None]:
        """Apply a ConfigRecord; return the value of its key before and after (None: not set).

        Makes no image, which takes most of the time of `of`.

        Raises:
            ContradictionError: as `of`.
        """
        record = cast(ConfigRecord, row.payload)
        resource = record.resource_type, record.resource_name
        before = self._delta.configs.value(resource, record.name)
        self._delta.replay(row)
        self._is_ahead = True
        return before, self._delta.configs.value(resource, record.name)

    def of_new_topic(self, row: Envelope) -> Topic:
        """Apply a TopicRecord, and return the topic that it created; makes no image either.

        Raises:
            ContradictionError: as `of`.
        """
        self.apply(row)
        topic = self._delta.topics.topic(cast(TopicRecord, row.payload).topic_id)
        assert topic is not None, "the record has just created it"
        return topic

    def apply(self, row: Envelope) -> None:
        """Apply a record that takes effect, without finding its effect.

        Raises:
            ContradictionError: as `of`.
        """
        self._delta.replay(row)
        self._is_ahead = self._is_stale = True

    def of_aborted(self, found: Resolved) -> Iterator[Effect]:
        """Yield what the rows of an aborted transaction would have changed.

        Stops at a record that contradicts the state. The state of this object does not change.
        """
        tried = Effects(self.image)
        try:
            for row in found.rows:
                effect = tried.of(row, found.closed_by)
                yield msgspec.structs.replace(effect, in_effect=False)
        except ContradictionError:
            return

    def _until(
        self,
        source: BatchSource,
        first: int,
        to_offset: int,
        progress: Callable[[int], None] | None,
        aborted: bool,
    ) -> Iterator[Effect]:
        for batch in source.batches(first, to_offset):
            yield from self.of_rows(rows_within(batch, first, to_offset), aborted=aborted)
            if progress is not None:
                progress(batch.end_offset)

    def _touched_by_partition(self, old: Partition | None, new: Partition) -> list[Touched]:
        topic_id = new.topic_id
        partition = Touched(_PARTITION, (topic_id, new.partition_id), old, new)
        if old is not None:
            return [partition]
        topic: TopicValue = _TOPIC.value(self._image, topic_id)
        count = topic.partitions + self._created[topic_id]
        before, after = topic._replace(partitions=count - 1), topic._replace(partitions=count)
        return [Touched(_TOPIC, topic_id, before, after), partition]

    def _advance(self) -> MetadataImage:
        self._image = self._delta.apply(Provenance())
        self._delta = MetadataDelta(self._image)
        self._is_ahead = self._is_stale = False
        self._created = {}
        return self._image


def _values(
    keys: dict[str, Collection[Key]], before: MetadataImage, after: MetadataImage
) -> Iterator[Touched]:
    for name in keys if len(keys) < 2 else sorted(keys, key=_ORDER.__getitem__):
        kind = KINDS[name]
        for key in sorted(cast(Any, keys[name])) if name in _SORTED else keys[name]:
            yield Touched(kind, key, kind.value(before, key), kind.value(after, key))


def touched_keys(
    delta: MetadataDelta, *, with_partitions: bool = True
) -> dict[str, Collection[Key]]:
    """Return, by kind, the keys of all objects that a delta has changed, before it is applied.

    May include keys of a few objects that did not change.

    Args:
        with_partitions: False leaves out the partitions, which are the most.
    """
    found: dict[str, Collection[Key]] = {}
    singles: list[Key] = []
    for field, part in delta.touched_parts():
        if field == "topics" and part.changed:
            found["topic"] = part.changed
            if with_partitions:
                found["partition"] = _partitions_in(delta)
        elif field in CLUSTER_PARTS:
            singles.append(field)
        elif field != "topics" and part.changed:
            found[_KIND_OF_FIELD[field]] = part.changed
    if singles:
        found["cluster"] = singles
    return found


def _partitions_in(delta: MetadataDelta) -> list[Key]:
    topics = delta.topics
    return [
        (topic_id, partition_id)
        for topic_id in topics.changed
        for partition_id in cast(
            Iterable[int],
            topics.changed_partitions(topic_id)
            if topics.topic(topic_id) is not None
            else [each.partition_id for each in delta.image.partitions(topic_id)],
        )
    ]
