"""Reads from the SQL history the states that led to the outages in progress at an offset.

The states of partitions, topics and min.insync.replicas are converted to rows of a log, as if
records had set each state as a whole. Replayed from the start of the log's history, these rows give
the same outages as the log itself; only the batches with broker records must still be read from it.

A state that a transaction sets is valid from the transaction's end, but an outage begins at a
record. If a transaction did more to an object than its states show, the whole log must be read.
"""

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.partitions import PartitionRecord, RemovePartitionsRecord
from records.text import parse_uuid
from records.topics import (
    MoveTopicRecord,
    NamespaceRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replay.incidents.causes import BROKER_RECORDS
from replay.sql_history.record_offsets import Ask
from replay.time_travel.change_index import FoundStates

_MIN_ISR = "min.insync.replicas"

_WHOLE = """(
  {0}.leader <> -1 AND {0}_set.isr_count > 0
  AND {0}_set.isr_count >= {0}_set.replica_count AND {0}_set.isr_count >= :min_isr
)"""

# Where a state began: its record, the offset from which it is valid, and the record's time.
_BEGIN = """record_offset, valid_from_offset,
  CASE WHEN valid_from_offset = record_offset THEN valid_from_time
    ELSE (SELECT time FROM change WHERE "offset" = record_offset)
  END"""

_SPAN = f"{_BEGIN}, valid_to_offset, valid_to_time"

# Earlier states than the last one in which a partition was whole do not matter.
_DOWN = f"""
WITH down AS (
  SELECT topic_id, partition_id, coalesce(
    (
      SELECT before.record_offset FROM partition_version AS before
      JOIN replica_set AS before_set ON before_set.replica_set = before.replica_set
      WHERE before.topic_id = now.topic_id AND before.partition_id = now.partition_id
        AND before.record_offset < :at AND {_WHOLE.format("before")}
      ORDER BY before.record_offset DESC LIMIT 1
    ),
    -1
  ) AS since
  FROM partition_version AS now
  JOIN replica_set AS now_set ON now_set.replica_set = now.replica_set
  WHERE valid_from_offset < :at AND coalesce(valid_to_offset, :at) >= :at
    AND NOT {_WHOLE.format("now")}
)
SELECT topic_id, partition_id, {_BEGIN}, valid_to_offset,
  leader, leader_recovery_state, leader_epoch, partition_epoch, mode, replica_set
FROM down JOIN partition_version USING (topic_id, partition_id)
WHERE record_offset >= since AND record_offset < :at
ORDER BY topic_id, partition_id, record_offset
"""

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

# A record that leaves a broker as it was can still be a cause, but makes no state.
_BROKERS = f"""
SELECT "offset", effective_offset FROM change
WHERE "offset" >= :start AND "offset" < :at AND effective_offset IS NOT NULL
  AND record IN ({", ".join(sorted(f"'{each.__name__}'" for each in BROKER_RECORDS))})
"""

_RECORD = 'SELECT record FROM change WHERE "offset" = :offset'

# In a transaction, they may follow the removal of the same object.
_CREATIONS = frozenset({"PartitionRecord", "TopicRecord", "NamespaceRecord", "ConfigRecord"})


def outage_beginnings(
    ask: Ask, start: int, at: int, assumed_min_isr: int | None
) -> FoundStates | None:
    """Return the states that led to the outages that were in progress just before offset `at`.

    Returns None if the tables alone do not determine these states.

    Args:
        start: First offset of the log's kept history. Earlier states are left out, even if the
            tables have them.

    Raises:
        ValueError: a value in the tables cannot be read.
    """
    try:
        return _Tables(ask, start, at).beginnings(assumed_min_isr)
    except _UnsureError:
        return None


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

    def beginnings(self, assumed_min_isr: int | None) -> FoundStates:
        """Return the states in which the outages began, with the offsets of broker records.

        Raises:
            _UnsureError: the states do not show what a transaction did.
            ValueError: a value in the tables cannot be read.
        """
        configs = list(self._ask(_CONFIGS))
        values = [value for *_, value in configs if value.isdecimal() and len(value) < 10]
        min_isr = max([assumed_min_isr or 0, *map(int, values)])
        partitions = list(self._partitions(min_isr))
        rows = [row for _, row in partitions]
        # Rows of one offset keep this order: a topic is removed after its partitions, and moves
        # before its configs, which then have moved with it.
        rows += self._topics({topic for topic, _ in partitions})
        rows += self._namespaces()
        rows += self._configs(configs)
        brokers = {each for found in self._ask(_BROKERS, start=self._start) for each in found}
        return FoundStates(sorted(rows, key=attrgetter("offset")), sorted(brokers))

    def _ask(self, query: str, **values: int) -> Iterable[Sequence[Any]]:
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

    def _partitions(self, min_isr: int) -> Iterator[tuple[str, Envelope]]:
        """Yield the states of each partition that is down, from when it was last fully in sync.

        A partition that was never fully in sync yields all of its states. Each state comes with the
        text of its topic id. There may be very many states, so this method does
        not call `_events`, which takes twice as long.
        """
        ids, start = _Uuids(), self._start
        found = list(self._ask(_DOWN, min_isr=min_isr))
        sets = self._replica_sets({row[-1] for row in found}, ids)
        last: tuple[str, int] | None = None
        ended: int | None = None
        for (
            topic,
            number,
            offset,
            begin,
            time,
            end,
            leader,
            recovery,
            epoch,
            own_epoch,
            mode,
            replica_set,
        ) in found:
            if last != (topic, number):
                last, topic_id = (topic, number), ids[topic]
            elif begin != ended:
                if ended is not None and start <= ended:
                    removed = RemovePartitionsRecord(topic_id=topic_id, partition_ids=(number,))
                    yield topic, _row(min(ended, offset), time, removed)
            elif offset != begin and self._record(offset) in _CREATIONS:
                raise _UnsureError
            ended = end
            if begin < start:
                continue
            replicas, isr, removing, adding, directories, elr, last_known_elr = sets[replica_set]
            record = PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=replicas,
                isr=isr,
                removing_replicas=removing,
                adding_replicas=adding,
                leader=leader,
                leader_recovery_state=recovery,
                leader_epoch=epoch,
                partition_epoch=own_epoch,
                directories=directories,
                eligible_leader_replicas=elr,
                last_known_elr=last_known_elr,
                mode=mode,
            )
            yield topic, _row(offset, time, record)

    def _replica_sets(self, wanted: Set[int], ids: "_Uuids") -> dict[int, tuple[Any, ...]]:
        """Return the lists of replicas of the wanted sets, in the order of the query's columns.

        Raises:
            ValueError: a set is missing, or cannot be read.
        """
        numbers, id_lists, found = _Lists(), _UuidLists(ids), {}
        keys = sorted(wanted)
        for at in range(0, len(keys), _SETS_ASKED_AT_ONCE):
            query = _REPLICA_SETS.format(", ".join(map(str, keys[at : at + _SETS_ASKED_AT_ONCE])))
            for key, replicas, isr, removing, adding, directories, *elrs in self._ask_tables(
                query, {}
            ):
                brokers = [numbers[text] for text in (replicas, isr, removing, adding)]
                elr, last_known_elr = [numbers[text] for text in elrs]
                found[key] = (*brokers, id_lists[directories], elr, last_known_elr)
        missing = wanted - found.keys()
        if missing:
            raise ValueError(f"replica set {min(missing)} is missing")
        return found

    def _topics(self, down: Set[str]) -> Iterator[Envelope]:
        """Yield the creations, moves and removals of all topics with partitions that are down.

        Topics that exist at the start are included too, because a later topic may get the name of
        one of them.
        """
        for topic, found in groupby(self._ask(_TOPICS), itemgetter(0)):
            states = list(found)
            if topic not in down and states[0][2] >= self._start:
                continue
            topic_id = parse_uuid(topic)
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
        found = self[text] = tuple(json.loads(text))
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
        found = self[text] = tuple([self._ids[each] for each in json.loads(text)])
        return found
