"""Reads from the SQL history what led to the outages that are in progress at an offset.

The states of partitions, topics and min.insync.replicas become rows, as if the log had set each of
them as a whole. Replayed, they give the same outages as the log, from which only the batches with
broker records are still needed.
"""

import json
import sqlite3
from collections.abc import Iterator
from operator import attrgetter

from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.partitions import PartitionRecord
from records.text import parse_uuid
from records.topics import NamespaceRecord, TopicRecord
from replay.time_travel.change_index import FoundStates

_MIN_ISR = "min.insync.replicas"

_WHOLE = """(
  {0}.leader <> -1
  AND json_array_length({0}.isr) >= max(json_array_length({0}.replicas), :min_isr)
)"""

# Earlier states than the last one in which a partition was whole do not matter.
_DOWN = f"""
WITH down AS (
  SELECT topic_id, partition_id, coalesce(
    (
      SELECT before.record_offset FROM partition_version AS before
      WHERE before.topic_id = now.topic_id AND before.partition_id = now.partition_id
        AND before.record_offset < :at AND {_WHOLE.format("before")}
      ORDER BY before.record_offset DESC LIMIT 1
    ),
    0
  ) AS since
  FROM partition_version AS now
  WHERE valid_from_offset < :at AND coalesce(valid_to_offset, :at) >= :at
    AND NOT {_WHOLE.format("now")}
)
SELECT valid_from_offset, valid_from_ms, valid_to_offset, topic_id, partition_id,
  leader, leader_recovery_state, leader_epoch, partition_epoch, mode, replicas, isr,
  removing_replicas, adding_replicas, directories, eligible_leader_replicas, last_known_elr
FROM down JOIN partition_version USING (topic_id, partition_id)
WHERE record_offset >= since AND record_offset < :at
ORDER BY topic_id, partition_id, record_offset
"""

_TOPICS = """
SELECT valid_from_offset, valid_from_ms, topic_id, name, namespace_id
FROM topic_version WHERE record_offset < :at AND coalesce(valid_to_offset, :at) >= :at
"""

_NAMESPACES = """
SELECT valid_from_offset, valid_from_ms, namespace_id, name
FROM namespace_version WHERE record_offset < :at AND coalesce(valid_to_offset, :at) >= :at
"""

_CONFIGS = f"""
SELECT valid_from_offset, valid_from_ms, valid_to_offset, valid_to_ms,
  resource_type, resource_name, value
FROM config_version WHERE name = '{_MIN_ISR}' AND record_offset < :at
"""

_BROKERS = "SELECT record_offset, valid_to_offset FROM broker_version WHERE record_offset < :at"

# A topic that was moved had other names before; records of a transaction take effect together. With
# features, which do not matter here, a log of Kafka begins.
_UNSURE = """
SELECT 1 FROM change WHERE "offset" < :at AND (
  record IN ('ClearElrRecord', 'MoveTopicRecord')
  OR (effective_offset IS NOT "offset" AND record <> 'FeatureLevelRecord')
) LIMIT 1
"""


def outage_beginnings(
    connection: sqlite3.Connection, at: int, assumed_min_isr: int | None
) -> FoundStates | None:
    """Return the states from which the outages in progress before offset `at` began.

    Returns None if the tables alone do not determine them.

    Raises:
        ValueError: a value in the tables cannot be read.
    """
    if connection.execute(_UNSURE, {"at": at}).fetchone():
        return None
    configs = list(_configs(connection, at))
    known = [int(value) for value, _ in configs if value and value.isdecimal() and len(value) < 10]
    partitions = list(_partitions(connection, at, max([assumed_min_isr or 0, *known])))
    rows = [row for _, row in configs]
    rows += [row for _, row in partitions]
    rows += _topics(connection, at, {topic_id for topic_id, _ in partitions})
    brokers = connection.execute(_BROKERS, {"at": at}).fetchall()
    offsets = {each for row in brokers for each in row if each is not None and each < at}
    return FoundStates(sorted(rows, key=attrgetter("offset")), sorted(offsets))


def _partitions(
    connection: sqlite3.Connection, at: int, min_isr: int
) -> Iterator[tuple[str, Envelope]]:
    """Yield the states of each partition that is down, since it was last whole or was created.

    Each comes with the text of the topic's id.
    """
    numbers, ids = _Lists(), _Uuids()
    rows: list[tuple[str, Envelope]] = []
    last: tuple[str, int, int | None] | None = None
    for (
        offset,
        time,
        end,
        topic,
        number,
        leader,
        recovery,
        epoch,
        own_epoch,
        mode,
        *lists,
    ) in connection.execute(_DOWN, {"at": at, "min_isr": min_isr}):
        if (topic, number, offset) != last:
            if last is not None and (topic, number) != last[:2]:
                yield from rows
            rows = []  # else it was removed and created again
        replicas, isr, removing, adding, directories, elr, last_known_elr = lists
        record = PartitionRecord(
            partition_id=number,
            topic_id=ids[topic],
            replicas=numbers[replicas],
            isr=numbers[isr],
            removing_replicas=numbers[removing],
            adding_replicas=numbers[adding],
            leader=leader,
            leader_recovery_state=recovery,
            leader_epoch=epoch,
            partition_epoch=own_epoch,
            directories=tuple([ids[each] for each in json.loads(directories)]),
            eligible_leader_replicas=numbers[elr],
            last_known_elr=numbers[last_known_elr],
            mode=mode,
        )
        rows.append((topic, _row(offset, time, record)))
        last = topic, number, end
    yield from rows


def _topics(connection: sqlite3.Connection, at: int, topics: set[str]) -> Iterator[Envelope]:
    """Yield the creations of topics and of all namespaces."""
    for offset, time, namespace_id, name in connection.execute(_NAMESPACES, {"at": at}):
        yield _row(offset, time, NamespaceRecord(namespace_id=parse_uuid(namespace_id), name=name))
    for offset, time, topic_id, name, within in connection.execute(_TOPICS, {"at": at}):
        if topic_id in topics:
            namespace_id = None if within is None else parse_uuid(within)
            record = TopicRecord(
                name=name, topic_id=parse_uuid(topic_id), namespace_id=namespace_id
            )
            yield _row(offset, time, record)


def _configs(connection: sqlite3.Connection, at: int) -> Iterator[tuple[str | None, Envelope]]:
    """Yield the values of min.insync.replicas, None where one was removed, and their records."""
    begins: set[tuple[int, str, int]] = set()
    ends: list[tuple[int, str, int, int]] = []
    for offset, time, end, end_time, type_, name, value in connection.execute(_CONFIGS, {"at": at}):
        begins.add((type_, name, offset))
        yield value, _row(offset, time, _config(type_, name, value))
        if end is not None and end < at:
            ends.append((type_, name, end, end_time))
    for type_, name, end, time in ends:
        if (type_, name, end) not in begins:
            yield None, _row(end, time, _config(type_, name, None))


def _config(resource_type: int, resource_name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=resource_type, resource_name=resource_name, name=_MIN_ISR, value=value
    )


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
    """Lists of brokers by their texts, which repeat."""

    def __missing__(self, text: str) -> tuple[int, ...]:
        found = self[text] = tuple(json.loads(text))
        return found


class _Uuids(dict[str, Uuid]):
    """Ids by their texts, which repeat."""

    def __missing__(self, text: str) -> Uuid:
        found = self[text] = parse_uuid(text)
        return found
