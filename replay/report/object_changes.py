"""Finds the objects that each record of a range changes.

Objects are identified by key, because their names can change.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.provenance import Provenance
from replay.incidents.health import broker_kinds, partition_kinds
from replay.loader import BatchSource, explains
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS, Fields, Key, Kind, partition_fields
from replay.transactions import Transactions, rows_within


class Touched(NamedTuple):
    """An object before and after a record: its fields, or None if it does not exist.

    Attributes:
        label: The object's name after the record, or before it if the record removed the object.
        outages: The kinds of outage that the object is in after the record, of
            `replay.incidents.health.KINDS`.
    """

    kind: str
    key: Any
    label: str
    before: Fields | None
    after: Fields | None
    outages: tuple[str, ...]


class EffectiveRow(NamedTuple):
    """A record that took effect at offset `effect`, and the objects it changed."""

    row: Envelope
    effect: int
    touched: list[Touched]


def objects_of(image: MetadataImage) -> Iterator[Touched]:
    """Yield every object of an image as newly created."""
    for kind in KINDS.values():
        for key, value in kind.objects(image):
            yield _created(image, kind, key, value)


def partitions_of(image: MetadataImage, topic_id: Uuid) -> Iterator[Touched]:
    """Yield the partitions of a topic in an image as newly created."""
    for partition in image.partitions(topic_id):
        yield _created(image, KINDS["partition"], (topic_id, partition.partition_id), partition)


def _created(image: MetadataImage, kind: Kind, key: Key, value: Any) -> Touched:
    outages = _outages(kind.name, value)
    return Touched(kind.name, key, kind.label(image, key), None, kind.fields(image, key), outages)


class ObjectChanges:
    """Finds the changes that records after an image made; can continue when the log has grown."""

    def __init__(self, image: MetadataImage) -> None:
        self._replay, self._transactions = _Replay(image), Transactions()
        self._next = image.provenance.next_offset

    @property
    def image(self) -> MetadataImage:
        """The image after the record that was yielded last."""
        return self._replay.image

    def until(
        self,
        source: BatchSource,
        to_offset: int,
        progress: Callable[[int], None] | None = None,
    ) -> Iterator[EffectiveRow]:
        """Yield the next records in effect, up to `to_offset` (exclusive), in order of effect.

        Records that change no object are included, with `touched` empty.

        Raises:
            CorruptLogError: a record contradicts the state before it; names the offset.
        """
        first = max(self._next, source.history_start)
        self._next = max(first, to_offset)
        return _effective(source, self._replay, self._transactions, first, to_offset, progress)


@explains
def _effective(
    source: BatchSource,
    replay: "_Replay",
    transactions: Transactions,
    first: int,
    to_offset: int,
    progress: Callable[[int], None] | None,
) -> Iterator[EffectiveRow]:
    for batch in source.batches(first, to_offset) if first < to_offset else ():
        for found in transactions.resolved(rows_within(batch, first, to_offset)):
            for row in found.rows if found.in_effect else ():
                closed_by = found.closed_by
                effect = row.offset if closed_by is None else closed_by.offset
                yield EffectiveRow(row, effect, replay.replay(row))
        if progress is not None:
            progress(batch.end_offset)


class _Replay:
    """Replays rows one by one and returns the objects that each row changed.

    Building an image per record would take most of the time. Most records change one partition,
    whose states before and after are in the delta; only the other records need images.
    """

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._delta = MetadataDelta(image)
        self._is_dirty = False

    def replay(self, row: Envelope) -> list[Touched]:
        record = row.payload
        if isinstance(record, PartitionChangeRecord):
            key = record.topic_id, record.partition_id
            before = self._delta.topics.partition(*key)
            self._delta.replay(row)
            self._is_dirty = True
            after = self._delta.topics.partition(*key)
            return [] if before == after else [self._partition(key, before, after)]
        touches = AFFECTED.get(type(record))
        if touches is None:
            self._delta.replay(row)
            self._is_dirty = True
            return []
        self._apply()
        old = self._image
        keys = {kind: list(of(record, old)) for kind, of in touches.items()}
        self._delta.replay(row)
        self._is_dirty = True
        self._apply()
        return list(_differing(keys, old, self._image))

    @property
    def image(self) -> MetadataImage:
        """The image after the last row."""
        self._apply()
        return self._image

    def _apply(self) -> None:
        if self._is_dirty:
            self._image = self._delta.apply(Provenance())
            self._delta, self._is_dirty = MetadataDelta(self._image), False

    def _partition(
        self, key: tuple[Any, int], before: Partition | None, after: Partition | None
    ) -> Touched:
        # No such record names a topic: the last image has its name.
        label = KINDS["partition"].label(self._image, key)
        fields = partition_fields(before), partition_fields(after)
        return Touched("partition", key, label, *fields, _outages("partition", after))


def _differing(
    keys: dict[str, list[Key]], old: MetadataImage, new: MetadataImage
) -> Iterator[Touched]:
    for name, of_kind in keys.items():
        kind = KINDS[name]
        for key in of_kind:
            before, after = kind.fields(old, key), kind.fields(new, key)
            if before != after:
                label = kind.label(old if after is None else new, key)
                yield Touched(name, key, label, before, after, _outages_at(name, new, key))


def _outages_at(kind: str, image: MetadataImage, key: Any) -> tuple[str, ...]:
    if kind == "partition":
        return _outages(kind, image.partition(*key))
    return _outages(kind, image.broker(key)) if kind == "broker" else ()


def _outages(kind: str, value: Any) -> tuple[str, ...]:
    if kind == "broker":
        return broker_kinds(value)
    return tuple(partition_kinds(value, 0)) if kind == "partition" and value is not None else ()
