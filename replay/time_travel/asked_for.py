"""Finds the record that asked for what a later record did.

Some requests only make known what is to happen, and others carry it out: partitions leave when
their brokers have deleted the replicas, and a reassignment ends when the new replicas are in sync.
A record that carries out such a plan was asked for by the record that made the plan:

- DeleteTopicPartitionsRecord plans the removal of partitions, until they are removed or the removal
  is cancelled. Mode changes and replica deletions of these partitions carry it out.
- RemoveTopicRecord plans the deletion of the topic's replicas.
- A change of a partition's adding or removing replicas plans a reassignment, unless both are empty
  afterwards. The change that empties them carries it out if it keeps all of the adding and none of
  the removing replicas; else it cancels the reassignment, which is a request of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import msgspec

from records.base import Record, Uuid
from records.envelope import Envelope
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from records.text import uuid_text
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.partitions import Partition
from replay.loader import BatchSource
from replay.time_travel.objects import parse_object
from replay.time_travel.past_topics import PastTopics
from replay.time_travel.skim import reaching_rows
from replay.transactions import effective_rows

_WIDE = 8
"""To read the log once takes less time than to search it for more topics than this."""


_NUMBER_PLACES = {"partition": 1, "removal": 1, "deletion": 2}
"""By kind of object, the part of its name, counted from the end, that is its partition."""


class Asker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The record that asked for what another record did, and who wrote it and why, if known."""

    offset: int
    principal: str | None
    reason: str | None

    @classmethod
    def of(cls, row: Envelope) -> Self:
        """Return the asker in a row that asked."""
        origin = row.origin
        return cls(
            offset=row.offset,
            principal=None if origin is None else origin.principal,
            reason=None if origin is None else origin.reason,
        )


class AskedFor:
    """Finds what asked for the records of a log; reads the log only when it must."""

    def __init__(
        self,
        source: BatchSource,
        past: PastTopics | None = None,
        *,
        by_name: bool = False,
        until: int | None = None,
    ) -> None:
        """Find what asked for records of a log.

        Args:
            past: Used to skip parts of the log in which a topic was not touched.
            by_name: A topic's past begins with its name: find nothing from before it was moved.
            until: Offset, exclusive, up to which the log is read; None means its end.
        """
        self._source = source
        self._until = source.end_offset if until is None else until
        self._past = past
        self._by_name = by_name
        self._topics: dict[Uuid, _Found] = {}
        self._of_all: _Found | None = None

    def of(self, row: Envelope, kind: str, label: str) -> Envelope | None:
        """Return the row that asked for a row's change of an object.

        Args:
            row: A row that took effect.
            kind: Kind of the object.
            label: Name of the object, without its kind.

        Returns:
            None if the row itself is what was asked for, or if the row that asked is not kept.
        """
        found = self.of_partitions(row)
        place = _NUMBER_PLACES.get(kind)
        asked = _latest(found.values()) if place is None else found.get(_number(label, place))
        if asked is None or (self._by_name and asked.before_move):
            return None
        return asked.row

    def of_partitions(self, row: Envelope) -> Mapping[int, "Asked"]:
        """Return what asked for a row's changes, by the numbers of the partitions."""
        topic_id = _carries_out(row)
        return {} if topic_id is None else self._found(topic_id).get(row.offset, {})

    def _found(self, topic_id: Uuid) -> "_Found":
        if self._of_all is not None:
            return self._of_all
        if topic_id not in self._topics:
            if len(self._topics) == _WIDE:
                self._of_all = found_in(_all_rows(self._source, self._until))
                return self._of_all
            self._topics[topic_id] = found_in(self._rows_of(topic_id))
        return self._topics[topic_id]

    def _rows_of(self, topic_id: Uuid) -> Iterable[Envelope]:
        name = parse_object(f"deletion:@{uuid_text(topic_id)}/0/0")
        rows = reaching_rows(self._source, name, self._until, past=self._past)
        return _all_rows(self._source, self._until) if rows is None else rows[1]


class AskedInRange:
    """Finds what asked for the records of a range while the range is read.

    Earlier parts of the log are read only when a plan from before the range is carried out.
    """

    def __init__(self) -> None:
        self._plans = _Plans()
        self._earlier: AskedFor | None = None

    def look_back(self, source: BatchSource, until: int) -> None:
        """Take plans from before the range from a log, read up to an offset, exclusive."""
        self._earlier = AskedFor(source, until=until)

    def of(self, row: Envelope, before: Partition | None = None) -> list[Envelope]:
        """Return the rows that asked for a row's changes, in no order.

        Args:
            row: Rows of types in PLANNING are given in order of effect. A PartitionChangeRecord
                that changes neither replicas nor mode may be left out.
            before: The partition before its change.
        """
        found = dict(self._plans.replay(row, before))
        record = row.payload
        count = len(record.partition_ids) if isinstance(record, RemovePartitionsRecord) else 1
        if self._earlier is not None and len(found) < count:
            found = {**self._earlier.of_partitions(row), **found}
        return [asked.row for asked in found.values()]


class Asked(msgspec.Struct, frozen=True, gc=False):
    """The row that asked; `before_move`: its topic was moved afterwards."""

    row: Envelope
    before_move: bool = False


_Found = dict[int, dict[int, Asked]]
"""By offset and partition id, what asked for a row's change of the partition."""


def found_in(rows: Iterable[Envelope]) -> _Found:
    """Return what asked for the rows that carry out a plan.

    Args:
        rows: Rows that take effect, in order, from the start of the kept history.
    """
    plans, found = _Plans(), dict[int, dict[int, Asked]]()
    for row in rows:
        if asked := dict(plans.replay(row)):
            found[row.offset] = asked
    return found


class _Reassignment(msgspec.Struct, frozen=True):
    """A plan of a reassignment; `asked` is None if no kept change made it."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    asked: Asked | None = None

    @classmethod
    def of(cls, partition: Partition | None) -> Self:
        """Return the plan of a partition that was not followed; None if it is not known."""
        if partition is None:
            return cls((), (), ())
        return cls(partition.replicas, partition.adding_replicas, partition.removing_replicas)

    def change(self, row: Envelope, record: PartitionChangeRecord) -> "_Reassignment":
        """Return the plan after a change of the partition."""
        replicas, adding, removing = (
            old if new is None else new
            for old, new in (
                (self.replicas, record.replicas),
                (self.adding, record.adding_replicas),
                (self.removing, record.removing_replicas),
            )
        )
        is_new = (adding, removing) != (self.adding, self.removing)
        return _Reassignment(replicas, adding, removing, Asked(row) if is_new else self.asked)

    def is_done(self, after: "_Reassignment") -> bool:
        """True if a change, which led to the plan `after`, carried this plan out."""
        if not (self.adding or self.removing) or after.adding or after.removing:
            return False
        return {*self.adding} <= {*after.replicas} and {*self.removing}.isdisjoint(after.replicas)


class _Plans:
    """What is planned at a place in a log."""

    def __init__(self) -> None:
        self._removals: dict[Uuid, dict[int, Asked]] = {}
        self._reassignments: dict[Uuid, dict[int, _Reassignment]] = {}
        self._removed: dict[Uuid, Asked] = {}

    def replay(self, row: Envelope, before: Partition | None = None) -> Iterator[tuple[int, Asked]]:
        """Process a row; yield the partitions for which it carries out a plan, and what asked.

        Args:
            before: The partition before its change, if rows that made partitions were left out.
        """
        match row.payload:
            case PartitionChangeRecord() as record:
                yield from self._change(row, record, before)
            case PartitionRecord(topic_id=topic_id, partition_id=number) as record:
                self._reassignments.setdefault(topic_id, {})[number] = _Reassignment(
                    record.replicas, record.adding_replicas, record.removing_replicas
                )
            case DeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=numbers):
                self._removals.setdefault(topic_id, {}).update(dict.fromkeys(numbers, Asked(row)))
            case CancelDeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=numbers):
                self._end_removals(topic_id, numbers)
            case RemovePartitionsRecord(topic_id=topic_id, partition_ids=numbers):
                yield from self._end_removals(topic_id, numbers).items()
                for number in numbers:
                    self._reassignments.get(topic_id, {}).pop(number, None)
            case ReplicaDeletionRecord(topic_id=topic_id, partition_id=number):
                asked = self._removed.get(topic_id, self._removals.get(topic_id, {}).get(number))
                if asked is not None:
                    yield number, asked
            case RemoveTopicRecord(topic_id=topic_id):
                self._removed[topic_id] = Asked(row)
            case MoveTopicRecord(topic_id=topic_id):
                self._move(topic_id)

    def _change(
        self, row: Envelope, record: PartitionChangeRecord, before: Partition | None
    ) -> Iterator[tuple[int, Asked]]:
        topic_id, number = record.topic_id, record.partition_id
        removal = self._removals.get(topic_id, {}).get(number)
        if record.mode is not None and removal is not None:
            yield number, removal
        changed = record.replicas, record.adding_replicas, record.removing_replicas
        of_topic = self._reassignments.setdefault(topic_id, {})
        plan = of_topic.get(number) or _Reassignment.of(before)
        if changed != (None, None, None):
            after = of_topic[number] = plan.change(row, record)
            if plan.asked is not None and plan.is_done(after):
                yield number, plan.asked

    def _end_removals(self, topic_id: Uuid, numbers: Iterable[int]) -> dict[int, Asked]:
        """Forget the plans to remove partitions, and return what asked for them."""
        of_topic = self._removals.get(topic_id, {})
        return {number: of_topic.pop(number) for number in numbers if number in of_topic}

    def _move(self, topic_id: Uuid) -> None:
        """Note that a topic was moved after all that is planned for it was asked for."""
        removals = self._removals.get(topic_id, {})
        for number, asked in removals.items():
            removals[number] = Asked(asked.row, before_move=True)
        reassignments = self._reassignments.get(topic_id, {})
        for number, plan in reassignments.items():
            if plan.asked is not None:
                moved = Asked(plan.asked.row, before_move=True)
                reassignments[number] = msgspec.structs.replace(plan, asked=moved)


PLANNING: frozenset[type[Record]] = frozenset(
    {
        PartitionChangeRecord,
        DeleteTopicPartitionsRecord,
        CancelDeleteTopicPartitionsRecord,
        RemovePartitionsRecord,
        ReplicaDeletionRecord,
        RemoveTopicRecord,
        MoveTopicRecord,
    }
)
"""Types of records that make, change or carry out plans; PartitionRecord only has one at times."""


def _carries_out(row: Envelope) -> Uuid | None:
    """Return the topic for which a row may carry out a plan; None if it cannot."""
    match row.payload:
        case RemovePartitionsRecord(topic_id=topic_id) | ReplicaDeletionRecord(topic_id=topic_id):
            return topic_id
        case PartitionChangeRecord(topic_id=topic_id) as record:
            may = record.mode is not None or () in (
                record.adding_replicas,
                record.removing_replicas,
            )
            return topic_id if may else None
    return None


def _number(label: str, place: int) -> int:
    return int(label.rsplit("/", place)[1])


def _latest(found: Iterable[Asked]) -> Asked | None:
    return max(found, key=lambda asked: asked.row.offset, default=None)


def _all_rows(source: BatchSource, end: int) -> Iterator[Envelope]:
    start = source.history_start
    return effective_rows(source.batches(start, end), start, end)
