"""Follows a log and yields every state that each object takes.

Building an image after each record would take most of the time. Therefore records are replayed in
runs in which no object changes twice: the images before and after the run then show the effect of
each record. Only partitions, which most records change, may change repeatedly in a run, because the
delta contains each of their states.
"""

from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from records import partitions, topics
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.image.configs import ConfigValue
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.parts import PARTS
from replay.image.provenance import Provenance
from replay.image.removals import PendingRemoval
from replay.image.topics import Topic
from replay.image.voters import Voter
from replay.loader import BatchSource, explains
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS
from replay.transactions import Resolved, Transactions, rows_within

Key = Hashable
ObjectKey = tuple[str, Key]
"""A part of the image, as in `PARTS`, and a key in it; of configs, one key of one resource."""

RUN_ROWS_MAX = 2_000

# They change one partition, and nothing else.
_OF_A_PARTITION: frozenset[type[Record]] = frozenset(
    {partitions.PartitionRecord, partitions.PartitionChangeRecord}
)

# It changes how many partitions a topic has, not the object itself.
_NOT_THE_TOPIC = partitions.RemovePartitionsRecord


class ChangeRow(msgspec.Struct, frozen=True, gc=False):
    """A record that can change objects.

    Attributes:
        closed_by: The record that ended or aborted the transaction of this record; None outside a
            transaction.
    """

    row: Envelope
    in_effect: bool = True
    closed_by: Envelope | None = None

    @property
    def effective(self) -> Envelope:
        """The record at whose offset this record takes effect."""
        return self.closed_by or self.row


class NewState(msgspec.Struct, frozen=True, gc=False):
    """An object's state before and after a record; None where the object does not exist."""

    part: str
    key: Key
    before: Any
    after: Any
    cause: ChangeRow


class Run(msgspec.Struct, frozen=True, gc=False):
    """A run of records, and the changes of object states that they caused.

    Attributes:
        end_offset: Offset from which the log can be continued after this run; None inside a batch
            or a transaction.
        image: The state after the run.
    """

    rows: list[ChangeRow]
    states: list[NewState]
    end_offset: int | None
    image: MetadataImage


@explains
def follow(source: BatchSource, image: MetadataImage, to_offset: int) -> Iterator[Run]:
    """Yield runs with the changes of the records from an image on, up to `to_offset` (exclusive).

    The last run always has an end offset: `to_offset`, or the start of an open transaction.

    Raises:
        CorruptLogError: a record contradicts the state before it; names the offset.
    """
    from_offset = max(image.provenance.next_offset, source.start_offset)
    runs, transactions = _Runs(image), Transactions()
    for batch in source.batches(from_offset, to_offset) if from_offset < to_offset else ():
        for found in transactions.resolved(rows_within(batch, from_offset, to_offset)):
            yield from runs.add(found)
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
        """Number of records in the open run and in earlier runs since the last end offset."""
        return self._unended_rows + len(self._rows)

    def add(self, found: Resolved) -> Iterator[Run]:
        """Add records; yield each run that had to be closed before one of these records."""
        in_effect, closed_by = found.in_effect, found.closed_by
        for row in found.rows:
            record_type = type(row.payload)
            if in_effect and record_type in _OF_A_PARTITION:
                self._add_of_a_partition(ChangeRow(row, True, closed_by))
            elif record_type not in AFFECTED:
                if in_effect:
                    self._delta.replay(row)
            elif not in_effect:
                self._rows.append(ChangeRow(row, False, closed_by))
            else:
                yield from self._add_other(ChangeRow(row, True, closed_by))

    def _add_of_a_partition(self, change: ChangeRow) -> None:
        record: Any = change.row.payload
        key = record.topic_id, record.partition_id
        before = self._delta.topics.partition(*key)
        self._delta.replay(change.row)
        self._rows.append(change)
        self._add_partition_state(key, before, change)

    def _add_partition_state(
        self, key: tuple[Uuid, int], before: Partition | None, change: ChangeRow
    ) -> None:
        after = self._delta.topics.partition(*key)
        if before != after:
            self._states.append(NewState("partitions", key, before, after, change))

    def _add_other(self, change: ChangeRow) -> Iterable[Run]:
        """Add a record; if the run has already changed one of its objects, first close the run.

        Returns:
            The closed run, if any.
        """
        ended: tuple[Run, ...] = ()
        keys: list[ObjectKey] = []
        with suppress(ContradictionError):  # the replay raises it, with the offset
            keys += _touched_by(change.row.payload, _Current(self._delta))
        if not self._touched.keys().isdisjoint(keys):
            ended = (self.close(),)
        partitions: list[Any] = [key for part, key in keys if part == "partitions"]
        before = [self._delta.topics.partition(*key) for key in partitions]
        self._delta.replay(change.row)
        self._rows.append(change)
        for key, old in zip(partitions, before, strict=True):
            self._add_partition_state(key, old, change)
        self._touched.update((each, change) for each in keys if each[0] != "partitions")
        return ended

    def close(self, end_offset: int | None = None) -> Run:
        """Close the open run, begin the next, and return the closed one."""
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


class _Current:
    """The state within a run, for finding the objects that a record changes.

    It has the methods of an image that are needed for this. All objects are found, even those
    created in this run, so a second change of an object in the run is always detected.
    """

    def __init__(self, delta: MetadataDelta) -> None:
        self._delta = delta
        self.topic = delta.topics.topic
        self.full_name = delta.full_name
        self.partitions = delta.topics.partitions

    def topics(self) -> Iterator[Topic]:
        found = map(self.topic, self._delta.topics.topic_ids())
        return (topic for topic in found if topic is not None)

    def topic_by_name(self, name: str) -> Topic | None:
        topic_id = self._delta.topic_id(name)
        return None if topic_id is None else self.topic(topic_id)

    def config(self, resource_type: int, name: str) -> Iterable[str]:
        return self._delta.configs.names((resource_type, name))

    def voters(self) -> Iterable[Voter]:
        return [voter for _, voter in self._delta.voters.items()]

    def pending_removals(self, topic_id: Uuid) -> Iterable[PendingRemoval]:
        return [value for _, value in self._delta.pending_removals.at(topic_id).items()]


def state_key(part: str, value: Any) -> Key:
    """Return the key of an object's state, in the form used in `NewState`."""
    if part == "configs":
        return value.resource_type, value.resource_name, value.name
    key: Key = PARTS[part].key_of(value)
    return key


def _touched_by(record: Any, before: Any) -> Iterator[ObjectKey]:
    record_type = type(record)
    if record_type is ConfigRecord:
        yield "configs", (record.resource_type, record.resource_name, record.name)
        return
    for kind, keys in AFFECTED[record_type].items():
        if kind == "topic" and record_type is _NOT_THE_TOPIC:
            continue
        for key in keys(record, before):
            yield from _object_keys(kind, key, record, before)


def _object_keys(kind: str, key: Any, record: Any, before: Any) -> Iterable[ObjectKey]:
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
