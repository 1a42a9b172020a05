"""Finds the request record behind a record that only carries out an earlier request.

Some requests only plan a change, and later records carry it out: partitions are removed when the
brokers have deleted the replicas, and a reassignment ends when the new replicas are in sync.
A record that carries out a plan was asked for by the record that made the plan:

- DeleteTopicPartitionsRecord plans the removal of partitions, until they are removed or the removal
  is cancelled. Mode changes and replica deletions of these partitions carry it out.
- RemoveTopicRecord plans the deletion of the topic's replicas.
- A change of a partition's adding or removing replicas plans a reassignment, unless both are empty
  afterwards. The change that empties them carries it out if it keeps all of the adding and none of
  the removing replicas; else it cancels the reassignment, which is a request of its own.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Self

import msgspec

from metadata_log.format.needles import Needles
from records.base import Record, Uuid
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.errors import ContradictionError, CorruptLogError
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
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.loader import BatchSource, rows_below
from replay.time_travel.objects import parse_object
from replay.time_travel.past_topics import PastTopics
from replay.time_travel.skim import reached_rows, reaching_rows

_WIDE = 8
"""For more topics than this, reading the whole log once is faster than one search per topic."""

_NEEDLES_MAX = 64
"""For more topics than this, reading the whole log is as fast as one search for all of them.

Measured with 64 topics and 375,976 records: search 1.03 s, reading 1.07 s.
"""


_NUMBER_PLACES = {"partition": 1, "removal": 1, "deletion": 2}
"""By kind of object: which `/` part of its name, counted from the end, is the partition id."""


class Asker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The record that requested another record's change, with its principal and reason if known."""

    offset: int
    principal: str | None
    reason: str | None

    @classmethod
    def of(cls, row: Envelope) -> Self:
        """Return the asker for the row of a record by which a request was made."""
        origin = row.origin
        return cls(
            offset=row.offset,
            principal=None if origin is None else origin.principal,
            reason=None if origin is None else origin.reason,
        )


class AskedFor:
    """Finds the earlier request that a record carries out; reads the log only when needed."""

    def __init__(
        self,
        source: BatchSource,
        past: PastTopics | None = None,
        *,
        by_name: bool = False,
        until: int | None = None,
    ) -> None:
        """Prepare to find, in a log, the requests behind records that carry out a plan.

        Args:
            past: Used to skip parts of the log in which a topic was not touched.
            by_name: Ignore requests from before the topic was moved to its present name.
            until: Offset, exclusive, up to which the log is read; None means its end.
        """
        self._source = source
        self._until = source.end_offset if until is None else until
        self._past = past
        self._by_name = by_name
        self._topics: dict[Uuid, _Found] = {}
        self._of_all: _Found | None = None

    def of(self, row: Envelope, kind: str, label: str) -> Envelope | None:
        """Return the row that requested a later row's change of an object.

        Args:
            row: A row that took effect.
            kind: Kind of the object.
            label: Name of the object, without its kind.

        Returns:
            None if the row itself is the request, or if the row that asked is not kept.
        """
        topic_id = _carries_out(row)
        found = {} if topic_id is None else self._found(topic_id).get(row.offset, {})
        place = _NUMBER_PLACES.get(kind)
        asked = _latest(found.values()) if place is None else found.get(_number(label, place))
        if asked is None or (self._by_name and asked.before_move):
            return None
        return asked.row

    def _found(self, topic_id: Uuid) -> "_Found":
        if self._of_all is not None:
            return self._of_all
        if topic_id not in self._topics:
            if len(self._topics) == _WIDE:
                self._of_all = found_in(rows_below(self._source, self._until))
                return self._of_all
            self._topics[topic_id] = found_in(self._rows_of(topic_id))
        return self._topics[topic_id]

    def _rows_of(self, topic_id: Uuid) -> Iterable[Envelope]:
        name = parse_object(f"deletion:@{uuid_text(topic_id)}/0/0")
        return reaching_rows(self._source, name, self._until, past=self._past)[1]


class AskedInRange:
    """Finds the requests behind the records of a range, while the range is read."""

    def __init__(self, start: MetadataImage) -> None:
        """Start with the image before the range."""
        removals = start.pending_removals()
        self._plans = _Plans({(each.topic_id, each.partition_id) for each in removals})

    def of(self, row: Envelope, before: Partition | None = None) -> list[Envelope | None]:
        """Return the rows that requested a row's changes, in any order.

        Args:
            row: Rows of types in PLANNING are given in order of effect. A PartitionChangeRecord
                that changes neither replicas nor mode may be left out.
            before: The partition before its change.

        Returns:
            The rows, with None for a row that may lie before the range: `asked_before` finds it.
        """
        found = self._plans.replay(row, before)
        return [None if asked is None else asked.row for _, asked in found]


def asked_before(
    source: BatchSource, rows: Collection[Envelope], until: int
) -> dict[int, list[Envelope]]:
    """Return, by the offset of each row, the rows that asked for it, searching the whole log.

    Reads the log once up to `until` (exclusive): only records that name one of the rows' topics,
    or all records if there are more than 64 topics. If that part of the log is damaged,
    returns nothing and raises no error, because the later part with the given rows may be intact.
    """
    topics = {topic_id for row in rows if (topic_id := _carries_out(row)) is not None}
    reached = reached_rows(source, _Topics(topics), until) if len(topics) <= _NEEDLES_MAX else None
    try:
        found = found_in(rows_below(source, until) if reached is None else reached[1])
    except (ContradictionError, CorruptLogError):
        return {}
    return {offset: [asked.row for asked in of.values()] for offset, of in found.items()}


class _Topics:
    """Reach of some topics, given by id: all records that contain one of the ids."""

    target = None
    restarts = False
    is_indexed = False

    def __init__(self, ids: Collection[Uuid]) -> None:
        self.ids = ids
        self.needles = Needles()
        self.needles.add_type(BeginTransactionRecord)
        for topic_id in ids:
            self.needles.add_id(topic_id)

    def takes(self, row: Envelope) -> bool:
        return getattr(row.payload, "topic_id", None) in self.ids

    def add_missed(self) -> bool:
        return False


class Asked(msgspec.Struct, frozen=True, gc=False):
    """The row that requested a change; `before_move` is True if the topic was moved after it."""

    row: Envelope
    before_move: bool = False


_Found = dict[int, dict[int, Asked]]
"""By a row's offset, then by partition id: the request behind the row's change."""


def found_in(rows: Iterable[Envelope]) -> _Found:
    """Return the requests behind all rows that carry out a plan.

    Args:
        rows: Rows that take effect, in order, from the start of the kept history.
    """
    plans, found = _Plans(), dict[int, dict[int, Asked]]()
    for row in rows:
        asked = {number: by for number, by in plans.replay(row) if by is not None}
        if asked:
            found[row.offset] = asked
    return found


class _Reassignment(msgspec.Struct, frozen=True):
    """A planned reassignment; `asked` is None if the record that planned it is not kept."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    asked: Asked | None = None

    @classmethod
    def of(cls, partition: Partition | None) -> Self:
        """Return the plan in a partition's fields; an empty plan if the partition is None."""
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
    """The planned removals and reassignments at an offset."""

    def __init__(self, earlier_removals: Iterable[tuple[Uuid, int]] = ()) -> None:
        """Start with the partitions whose removal was planned by records that are not known."""
        self._earlier_removals = set(earlier_removals)
        self._removals: dict[Uuid, dict[int, Asked]] = {}
        self._reassignments: dict[Uuid, dict[int, _Reassignment]] = {}
        self._removed: dict[Uuid, Asked] = {}

    def replay(
        self, row: Envelope, before: Partition | None = None
    ) -> Iterator[tuple[int, Asked | None]]:
        """Process a row; yield each partition whose plan it carries out, and the plan's record.

        The plan's record is None if the plan was made before the first row.

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
                asked_by = self._end_removals(topic_id, numbers)
                for number in numbers:
                    yield number, asked_by.get(number)
                    self._reassignments.get(topic_id, {}).pop(number, None)
            case ReplicaDeletionRecord(topic_id=topic_id, partition_id=number):
                removal = self._removals.get(topic_id, {}).get(number)
                yield number, self._removed.get(topic_id, removal)
            case RemoveTopicRecord(topic_id=topic_id):
                self._removed[topic_id] = Asked(row)
            case MoveTopicRecord(topic_id=topic_id):
                self._move(topic_id)

    def _change(
        self, row: Envelope, record: PartitionChangeRecord, before: Partition | None
    ) -> Iterator[tuple[int, Asked | None]]:
        topic_id, number = record.topic_id, record.partition_id
        removal = self._removals.get(topic_id, {}).get(number)
        is_planned = removal is not None or (topic_id, number) in self._earlier_removals
        if record.mode is not None and is_planned:
            yield number, removal
        changed = record.replicas, record.adding_replicas, record.removing_replicas
        of_topic = self._reassignments.setdefault(topic_id, {})
        plan = of_topic.get(number) or _Reassignment.of(before)
        if changed != (None, None, None):
            after = of_topic[number] = plan.change(row, record)
            if plan.is_done(after):
                yield number, plan.asked

    def _end_removals(self, topic_id: Uuid, numbers: Iterable[int]) -> dict[int, Asked]:
        """Drop the plans to remove partitions; return the requests that made these plans."""
        self._earlier_removals.difference_update((topic_id, number) for number in numbers)
        of_topic = self._removals.get(topic_id, {})
        return {number: of_topic.pop(number) for number in numbers if number in of_topic}

    def _move(self, topic_id: Uuid) -> None:
        """Mark all plans for a topic as requested before the topic was moved."""
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
"""Types of records that make, change or carry out plans; a PartitionRecord rarely does."""


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
