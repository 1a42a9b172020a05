"""Follows a log and yields each state that an object takes.

An image after each record would cost most of the time. So records are replayed in runs in which no
object is changed twice: the images around the run then show what each of its records did. Of a
partition, which most records change, the delta shows every state within a run.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import msgspec

from records import partitions, topics
from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Envelope
from replay.image.configs import ConfigValue
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS
from replay.image.provenance import Provenance
from replay.loader import BatchSource
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS
from replay.transactions import Transactions, rows_within

Key = Hashable
ObjectKey = tuple[str, Key]
"""A part of the image, as in `PARTS`, and a key in it; of configs, one key of one resource."""

RUN_ROWS_MAX = 2_000

# What these change depends on the state before them.
_ALONE: frozenset[type[Record]] = frozenset(
    {
        topics.RemoveTopicRecord,
        topics.MoveTopicRecord,
        partitions.ClearElrRecord,
        partitions.RemovePartitionsRecord,
    }
)

# They change one partition. No other type outside `_ALONE` changes any.
_OF_A_PARTITION: frozenset[type[Record]] = frozenset(
    {partitions.PartitionRecord, partitions.PartitionChangeRecord}
)

# It changes how many partitions a topic has, not the object itself.
_NOT_THE_TOPIC = partitions.RemovePartitionsRecord


class ChangeRow(msgspec.Struct, frozen=True, gc=False):
    """A record that can change objects.

    Attributes:
        closed_by: The record that ended or aborted its transaction; None outside one.
    """

    row: Envelope
    in_effect: bool = True
    closed_by: Envelope | None = None

    @property
    def effective(self) -> Envelope:
        """The record at whose offset it takes effect."""
        return self.closed_by or self.row


class NewState(msgspec.Struct, frozen=True, gc=False):
    """A record gave an object another state; None before it is made and after it is gone."""

    part: str
    key: Key
    before: Any
    after: Any
    cause: ChangeRow


class Run(msgspec.Struct, frozen=True, gc=False):
    """What a run of records did.

    Attributes:
        end_offset: Where the log can be continued from after this run; None inside a batch or a
            transaction.
        image: The state there.
    """

    rows: list[ChangeRow]
    states: list[NewState]
    end_offset: int | None
    image: MetadataImage


def follow(source: BatchSource, image: MetadataImage, to_offset: int) -> Iterator[Run]:
    """Yield what the records from an image on, up to `to_offset` (exclusive), did; in order.

    The last run has an end offset: `to_offset`, or where an open transaction begins.

    Raises:
        CorruptLogError: a record contradicts the state before it; names the offset.
    """
    from_offset = max(image.provenance.next_offset, source.start_offset)
    runs, transactions = _Runs(image), Transactions()
    for batch in source.batches(from_offset, to_offset) if from_offset < to_offset else ():
        for found in transactions.resolved(rows_within(batch, from_offset, to_offset)):
            for row in found.rows:
                yield from runs.add(ChangeRow(row, found.in_effect, found.closed_by))
        end_offset = min(batch.end_offset, to_offset)
        if runs.unended_rows >= RUN_ROWS_MAX and transactions.begin_offset is None:
            yield runs.close(end_offset)
    open_at = transactions.begin_offset
    yield runs.close(max(from_offset, to_offset) if open_at is None else open_at)


class _Runs:
    """Collects records into runs."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._delta = MetadataDelta(image)
        self._rows: list[ChangeRow] = []
        self._states: list[NewState] = []
        self._touched: dict[ObjectKey, ChangeRow] = {}
        # Of closed runs: short runs too must let the log be continued from somewhere.
        self._unended_rows = 0

    @property
    def unended_rows(self) -> int:
        """Records of the open run, and of those before it that have no end offset."""
        return self._unended_rows + len(self._rows)

    def add(self, change: ChangeRow) -> Iterable[Run]:
        """Add a record; returns the runs before it that it cannot be part of, or that it is."""
        row = change.row
        record_type = type(row.payload)
        if record_type in _OF_A_PARTITION and change.in_effect:
            self._add_of_a_partition(change)
            return ()
        if record_type not in AFFECTED:
            if change.in_effect:
                self._delta.replay(row)
            return ()
        if not change.in_effect:
            self._rows.append(change)
            return ()
        return self._add_other(change, is_alone=record_type in _ALONE)

    def _add_of_a_partition(self, change: ChangeRow) -> None:
        record: Any = change.row.payload
        topic_id, partition_id = key = record.topic_id, record.partition_id
        current = self._delta.topics.partition
        before = current(topic_id, partition_id)
        self._delta.replay(change.row)
        after = current(topic_id, partition_id)
        self._rows.append(change)
        if before != after:
            self._states.append(NewState("partitions", key, before, after, change))

    def _add_other(self, change: ChangeRow, *, is_alone: bool) -> list[Run]:
        record, runs = change.row.payload, []
        if is_alone:
            runs.append(self.close())
            keys = list(_touched_by(record, self._image))
        else:
            keys = list(_touched_by(record, MetadataImage.EMPTY))
            if not self._touched.keys().isdisjoint(keys):
                runs.append(self.close())
        self._delta.replay(change.row)
        self._rows.append(change)
        for key in keys:
            self._touched[key] = change
        if is_alone:
            runs.append(self.close())
        return runs

    def close(self, end_offset: int | None = None) -> Run:
        """End the open run and begin the next."""
        before = self._image
        if end_offset is None:
            after = self._delta.apply(Provenance())
        else:
            after = self._delta.apply(
                Provenance(offset=end_offset - 1) if end_offset else Provenance()
            )
        states = self._states
        for (part, key), change in self._touched.items():
            old, new = _state(before, part, key), _state(after, part, key)
            # 0.0 equals -0.0, and is another value nevertheless.
            if old != new or repr(old) != repr(new):
                states.append(NewState(part, key, old, new, change))
        run = Run(self._rows, states, end_offset, after)
        self._unended_rows = self.unended_rows if end_offset is None else 0
        self._image, self._delta = after, MetadataDelta(after)
        self._rows, self._states, self._touched = [], [], {}
        return run


def state_key(part: str, value: Any) -> Key:
    """Return the key of a state of an object, as `NewState` has it."""
    if part == "configs":
        return value.resource_type, value.resource_name, value.name
    key: Key = PARTS[part].key_of(value)
    return key


def _touched_by(record: Any, before: MetadataImage) -> Iterator[ObjectKey]:
    record_type = type(record)
    if record_type is ConfigRecord:
        yield "configs", (record.resource_type, record.resource_name, record.name)
        return
    for kind, keys in AFFECTED[record_type].items():
        if kind == "topic" and record_type is _NOT_THE_TOPIC:
            continue
        for key in keys(record, before):
            yield from _object_keys(kind, key, record, before)


def _object_keys(kind: str, key: Any, record: Any, before: MetadataImage) -> Iterable[ObjectKey]:
    if kind == "cluster":
        return ((key, None),)
    (part,) = KINDS[kind].parts
    if part != "configs":
        return ((part, key),)
    names = set(before.config(*key))
    if isinstance(record, topics.MoveTopicRecord):
        # The keys are those of the old name; under the new one there are none yet.
        topic = before.topic(record.topic_id)
        if topic is not None:
            names.update(before.config(key[0], before.full_name(topic)))
    return (("configs", (*key, name)) for name in sorted(names))


def _state(image: MetadataImage, part: str, key: Any) -> Any:
    if part != "configs":
        return PARTS[part].get(image, key)
    resource_type, resource_name, name = key
    value = image.config_value(resource_type, resource_name, name)
    return None if value is None else ConfigValue(resource_type, resource_name, name, value)
