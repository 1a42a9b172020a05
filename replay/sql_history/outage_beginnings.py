"""Reads from the SQL history the states that led to the outages in progress at an offset.

The states of partitions, topics and min.insync.replicas are converted to rows of a log, as if
records had set each state as a whole. Replayed from the start of the log's history, these rows give
the same outages as the log itself; only the batches with broker records must still be read from it.
A state in which a partition is whole begins no outage: it is only the one before the next state.

A state that a transaction sets is valid from the transaction's end, but an outage begins at a
record. If a transaction did more to an object than its states show, the whole log must be read.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import msgspec

from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.partitions import RemovePartitionsRecord
from records.text import parse_uuid
from records.topics import (
    MoveTopicRecord,
    NamespaceRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replay.image.partitions import NO_LEADER, Partition
from replay.incidents.moved_leads import PartitionKey
from replay.sql_history.record_offsets import Ask
from replay.time_travel.change_index import PartitionState

_MIN_ISR = "min.insync.replicas"

# Where a state began: its record, the offset from which it is valid, and the record's time.
_BEGIN = """record_offset, valid_from_offset,
  CASE WHEN valid_from_offset = record_offset THEN valid_from_time
    ELSE (SELECT time FROM change WHERE "offset" = record_offset)
  END"""

_SPAN = f"{_BEGIN}, valid_to_offset, valid_to_time"

# Earlier states than the last one in which a partition was whole do not matter.
_DOWN = f"""
WITH down (topic_id, partition_id) AS (VALUES {{}})
SELECT states.topic_id, states.partition_id, {_BEGIN}, valid_to_offset,
  leader, leader_recovery_state, leader_epoch, partition_epoch, mode, replica_set
FROM down CROSS JOIN partition_version AS states
WHERE states.topic_id = down.topic_id AND states.partition_id = down.partition_id
  AND states.record_offset < :at AND states.record_offset >= coalesce(
    (
      SELECT whole.record_offset FROM partition_version AS whole
      JOIN replica_set AS whole_set ON whole_set.replica_set = whole.replica_set
      WHERE whole.topic_id = down.topic_id AND whole.partition_id = down.partition_id
        AND whole.record_offset < :at AND whole.leader <> {NO_LEADER}
        AND whole_set.isr_count >= whole_set.replica_count
        AND whole_set.isr_count > 0 AND whole_set.isr_count >= :min_isr
      ORDER BY whole.record_offset DESC LIMIT 1
    ),
    -1
  )
ORDER BY states.topic_id, states.partition_id, states.record_offset
"""

# Fewer are asked for more often, more take longer to sort.
_PARTITIONS_ASKED_AT_ONCE = 100


@cache
def _down(count: int) -> str:
    """Return the query of the states of so many partitions."""
    return _DOWN.format(", ".join([f"(:topic{each}, :id{each})" for each in range(count)]))


# Few of them are in most states, so they are not joined to each.
_REPLICA_SETS = """
SELECT replica_set, replicas, isr, removing_replicas, adding_replicas, directories,
  eligible_leader_replicas, last_known_elr
FROM replica_set WHERE replica_set IN ({})
"""
_SETS_ASKED_AT_ONCE = 500

_TOPICS = f"""
SELECT topic_id, {_SPAN}, name, namespace_id FROM topic_version
WHERE record_offset < :at ORDER BY topic_id, record_offset
"""

_NAMESPACES = f"""
SELECT namespace_id, {_SPAN}, name FROM namespace_version
WHERE record_offset < :at ORDER BY namespace_id, record_offset
"""

_CONFIGS = f"""
SELECT resource_type, resource_name, {_SPAN}, value FROM config_version
WHERE name = '{_MIN_ISR}' AND record_offset < :at
ORDER BY resource_type, resource_name, record_offset
"""

_RECORD = 'SELECT record FROM change WHERE "offset" = :offset'

# In a transaction, they may follow the removal of the same object.
_CREATIONS = frozenset({"PartitionRecord", "TopicRecord", "NamespaceRecord", "ConfigRecord"})


def outage_beginnings(
    ask: Ask, start: int, at: int, down: Collection[PartitionKey], assumed_min_isr: int | None
) -> list[Envelope] | None:
    """Return the states that led to the outages that were in progress just before offset `at`.

    Returns None if the tables alone do not determine these states.

    Args:
        start: First offset of the log's kept history. Earlier states are left out, even if the
            tables have them.
        down: The partitions in an outage.

    Returns:
        By ascending offset, rows that set the state of a topic, of a partition, or
        min.insync.replicas.

    Raises:
        ValueError: a value in the tables cannot be read.
    """
    try:
        return _Tables(ask, start, at).beginnings(down, assumed_min_isr)
    except _UnsureError:
        return None


_Fields = Sequence[Any]


class _UnsureError(Exception):
    """Raised if the states do not show what a transaction did to an object."""


class _Event(NamedTuple):
    """The effect of a record on an object.

    Attributes:
        state: The object's fields after the record; None if the record removed the object.
        existed: True if the object existed before the record.
    """

    offset: int
    time: int
    state: Sequence[Any] | None
    existed: bool


class _Tables:
    """Reads the effects of the records in [start, at) from the tables."""

    def __init__(self, ask: Ask, start: int, at: int) -> None:
        self._ask_tables = ask
        self._start = start
        self._at = at

    def beginnings(
        self, down: Collection[PartitionKey], assumed_min_isr: int | None
    ) -> list[Envelope]:
        """Return the states in which the outages of these partitions began.

        Raises:
            _UnsureError: the states do not show what a transaction did.
            ValueError: a value in the tables cannot be read.
        """
        configs = list(self._ask(_CONFIGS))
        values = [value for *_, value in configs if value.isdecimal() and len(value) < 10]
        min_isr = max([assumed_min_isr or 0, *map(int, values)])
        rows = list(self._partitions(down, min_isr))
        # Rows of one offset keep this order: a topic is removed after its partitions, and moves
        # before its configs, which then have moved with it.
        rows += self._topics({topic_id for topic_id, _ in down})
        rows += self._namespaces()
        rows += self._configs(configs)
        return sorted(rows, key=attrgetter("offset"))

    def _ask(self, query: str, **values: Any) -> Iterable[Sequence[Any]]:
        return self._ask_tables(query, {"at": self._at, **values})

    def _record(self, offset: int) -> str | None:
        """Return the type of the record at an offset; None if it cannot change any object."""
        found = self._ask_tables(_RECORD, {"offset": offset})
        return next((record for (record,) in found), None)

    def _events(self, states: Iterable[Sequence[Any]], key_length: int) -> Iterator[_Event]:
        """Yield the events of one object, in order.

        Args:
            states: Rows with the object's states: its key, the columns `_SPAN`, its fields.
            key_length: Number of columns of the key.
        """
        first_field = key_length + 5
        ended: tuple[int, int] | None = None
        for row in states:
            offset, begin, time, end, end_time = row[key_length:first_field]
            existed = ended is not None and ended[0] == begin
            if existed:
                if offset != begin and self._record(offset) in _CREATIONS:
                    raise _UnsureError
            elif ended is not None and self._start <= ended[0]:
                yield _Event(min(ended[0], offset), ended[1], None, True)
            if begin >= self._start:
                yield _Event(offset, time, row[first_field:], existed)
            ended = None if end is None else (end, end_time)
        if ended is not None and self._start <= ended[0] < self._at:
            yield _Event(*ended, None, True)

    def _partitions(self, down: Collection[PartitionKey], min_isr: int) -> Iterator[Envelope]:
        """Yield the states of these partitions, from when each was last whole.

        A partition that was never whole yields all of its states. There may be very many, so this
        method does not call `_events`, which takes twice as long.
        """
        ids, start = _Uuids(), self._start
        found = list(self._states(down, min_isr))
        sets = self._replica_sets({row[-1] for row in found}, ids)
        last: tuple[str, int] | None = None
        ended: int | None = None
        before: Partition | None = None
        is_known = False
        for topic, number, offset, begin, time, end, *state, mode, replica_set in found:
            is_first = last != (topic, number)
            if is_first:
                last, topic_id, before, is_known = (topic, number), ids[topic], None, False
            elif begin != ended:
                if is_known and ended is not None and start <= ended:
                    removed = RemovePartitionsRecord(topic_id=topic_id, partition_ids=(number,))
                    yield _row(min(ended, offset), time, removed)
                before, is_known = None, False
            elif offset != begin and self._record(offset) in _CREATIONS:
                raise _UnsureError
            replicas, others = sets[replica_set]
            after = Partition(*(topic_id, number, *replicas, *state, *others, mode))
            # A base may have the partition in an outage, which then ended here.
            if start or not (is_first and _is_whole(after, min_isr)):
                is_known = True
                if begin >= start:
                    yield _row(offset, time, PartitionState(before=before, after=after))
            ended, before = end, after

    def _states(self, down: Collection[PartitionKey], min_isr: int) -> Iterator[Sequence[Any]]:
        keys = list(down)
        for at in range(0, len(keys), _PARTITIONS_ASKED_AT_ONCE):
            some = keys[at : at + _PARTITIONS_ASKED_AT_ONCE]
            asked: dict[str, Any] = {"min_isr": min_isr}
            for number, (topic_id, partition_id) in enumerate(some):
                asked[f"topic{number}"], asked[f"id{number}"] = topic_id, partition_id
            yield from self._ask(_down(len(some)), **asked)

    def _replica_sets(self, wanted: Set[int], ids: "_Uuids") -> dict[int, tuple[_Fields, _Fields]]:
        """Return the fields of partitions with the wanted sets: the first four, and the others.

        Raises:
            ValueError: a set is missing, or cannot be read.
        """
        numbers, id_lists = _Lists(), _UuidLists(ids)
        found: dict[int, tuple[_Fields, _Fields]] = {}
        keys = sorted(wanted)
        for at in range(0, len(keys), _SETS_ASKED_AT_ONCE):
            query = _REPLICA_SETS.format(", ".join(map(str, keys[at : at + _SETS_ASKED_AT_ONCE])))
            for key, replicas, isr, removing, adding, directories, *elrs in self._ask_tables(
                query, {}
            ):
                brokers = [numbers[text] for text in (replicas, isr, removing, adding)]
                elr, last_known_elr = [numbers[text] for text in elrs]
                found[key] = brokers, (id_lists[directories], elr, last_known_elr)
        missing = wanted - found.keys()
        if missing:
            raise ValueError(f"replica set {min(missing)} is missing")
        return found

    def _topics(self, down: Set[Uuid]) -> Iterator[Envelope]:
        """Yield the creations, moves and removals of all topics with partitions that are down.

        Topics that exist at the start are included too, because a later topic may get the name of
        one of them.
        """
        for topic, found in groupby(self._ask(_TOPICS), itemgetter(0)):
            states, topic_id = list(found), parse_uuid(topic)
            if topic_id not in down and states[0][2] >= self._start:
                continue
            for offset, time, state, existed in self._events(states, 1):
                if state is None:
                    yield _row(offset, time, RemoveTopicRecord(topic_id=topic_id))
                    continue
                name, namespace = state
                namespace_id = None if namespace is None else parse_uuid(namespace)
                new = MoveTopicRecord if existed else TopicRecord
                yield _row(
                    offset, time, new(topic_id=topic_id, name=name, namespace_id=namespace_id)
                )

    def _namespaces(self) -> Iterator[Envelope]:
        """Yield the creations and removals of namespaces."""
        for namespace, states in groupby(self._ask(_NAMESPACES), itemgetter(0)):
            namespace_id = parse_uuid(namespace)
            for offset, time, state, _ in self._events(states, 1):
                if state is None:
                    yield _row(offset, time, RemoveNamespaceRecord(namespace_id=namespace_id))
                else:
                    (name,) = state
                    yield _row(offset, time, NamespaceRecord(namespace_id=namespace_id, name=name))

    def _configs(self, found: Iterable[Sequence[Any]]) -> Iterator[Envelope]:
        """Yield the values of min.insync.replicas."""
        for (resource_type, resource_name), states in groupby(found, _TWO):
            for offset, time, state, _ in self._events(states, 2):
                if state is None and self._record(offset) is None:
                    raise _UnsureError  # a transaction removed it, at an unknown offset
                record = ConfigRecord(
                    resource_type=resource_type,
                    resource_name=resource_name,
                    name=_MIN_ISR,
                    value=None if state is None else state[0],
                )
                yield _row(offset, time, record)


_TWO = itemgetter(0, 1)


def _is_whole(partition: Partition, min_isr: int) -> bool:
    """True if the partition is in no outage; as in `_DOWN`."""
    needed = max(1, len(partition.replicas), min_isr)
    return partition.leader != NO_LEADER and len(partition.isr) >= needed


def _row(offset: int, time: int, record: Record) -> Envelope:
    return Envelope(
        offset=offset,
        leader_epoch=0,
        timestamp=time,
        batch_offset=offset,
        record_version=0,
        payload=record,
    )


class _Lists(dict[str, tuple[int, ...]]):
    """Cache of broker lists by their JSON text, because lists repeat."""

    def __missing__(self, text: str) -> tuple[int, ...]:
        found = self[text] = _numbers.decode(text)
        return found


class _Uuids(dict[str, Uuid]):
    """Cache of ids by their text, because ids repeat."""

    def __missing__(self, text: str) -> Uuid:
        found = self[text] = parse_uuid(text)
        return found


class _UuidLists(dict[str, tuple[Uuid, ...]]):
    """Cache of id lists by their JSON text, because lists repeat."""

    def __init__(self, ids: _Uuids) -> None:
        self._ids = ids

    def __missing__(self, text: str) -> tuple[Uuid, ...]:
        found = self[text] = tuple([self._ids[each] for each in _texts.decode(text)])
        return found


_numbers = msgspec.json.Decoder(tuple[int, ...])
_texts = msgspec.json.Decoder(list[str])
