"""Replaces the records of some topics by fewer records that lead to the same state of partitions.

Changes that are computed from later records are therefore the same, too.

All records of a partition are replaced by one record with the partition's state, or by two during a
reassignment. Records of topics are kept unchanged if later changes need their names or plans.
"""

from typing import Any

import msgspec
import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.event_table import BEGUN, FIELDS, NO_PLAN
from replay.audit.fold.objects import FOR_EVER
from replay.audit.fold.partition_changes import Events

_REASSIGNMENT = ("adding_replicas", "removing_replicas")


def kept_records(events: Events) -> pyarrow.Table:
    """Return fewer records that give the same changes after `events` as all of their records.

    The events end outside a transaction. The columns are those of `events.records`, without `span`.
    """
    last = _LastEvents(events)
    schema = events.records.drop_columns("span").schema
    others = _of_topics(events.records, last.planned_from())
    states = pyarrow.concat_tables([others, *last.states()], promote_options="default")
    return states.select(schema.names).cast(schema)


class _LastEvents:
    """By partition, the indices of its last events of each kind that took effect; -1 if none."""

    def __init__(self, events: Events) -> None:
        self._events = events
        count = len(events.partition)
        (self._starts,) = numpy.nonzero(numpy.diff(events.partition, prepend=-1))
        self._ends = numpy.append(self._starts[1:], count)[: len(self._starts)] - 1
        self._removed = self._last(events.is_removal[events.order])
        self._set = {name: self._since(self._is_set(name)) for name in FIELDS}
        self._whole = self._since(events.is_of("PartitionRecord"))
        self._any = numpy.max([*self._set.values(), numpy.full(len(self._starts), -1)], axis=0)
        self._begun = self._since(events.begins_reassignment())

    def states(self) -> list[pyarrow.Table]:
        """Return a record with the state of each partition, and one for each reassignment."""
        is_there = self._any >= 0
        is_moving = is_there & (self._begun > self._whole) & self._is_reassigned()
        values = {name: self._values(name, self._set[name]) for name in FIELDS}
        whole = self._whole >= 0
        # The state of a partition is as of its last whole record, before what is kept of plans.
        at = numpy.where(whole, self._whole, numpy.where(is_moving, self._begun, self._any))
        state = self._rows(at, values)
        for name in _REASSIGNMENT:
            none = pyarrow.scalar([], values[name].type)
            state[name] = pc.if_else(pyarrow.array(is_moving), none, values[name])
        for name in ("leader_epoch", "partition_epoch"):
            state[name] = pyarrow.array(numpy.zeros(len(at), numpy.int32), mask=~whole)
        moving = self._rows(self._begun, {name: values[name] for name in _REASSIGNMENT})
        return [
            pyarrow.table(state).filter(pyarrow.array(is_there)),
            pyarrow.table(moving).filter(pyarrow.array(is_moving)),
        ]

    def planned_from(self) -> dict[bytes, int]:
        """Return, by topic, the position of the first open plan to remove partitions."""
        events = self._events
        planned = events.planned[events.order]
        last = self._last(planned != NO_PLAN)
        (open_,) = numpy.nonzero((last >= 0) & (planned[last] == BEGUN))
        topics = self._values("topic_id", last[open_]).to_pylist()
        found: dict[bytes, int] = {}
        for topic, position in zip(topics, events.offset[last[open_]].tolist(), strict=True):
            found[topic] = min(position, found.get(topic, FOR_EVER))
        return found

    def _last(self, among: Any) -> Any:
        """Return the index of each partition's last effective event in the mask `among`, or -1."""
        is_one = among & self._events.in_effect
        places = numpy.where(is_one, numpy.arange(len(is_one)), -1)
        last = numpy.maximum.accumulate(places)[self._ends]
        return numpy.where(last < self._starts, -1, last)

    def _since(self, among: Any) -> Any:
        """Return the same indices as `_last`, or -1 for events before the partition's removal."""
        last = self._last(among)
        return numpy.where(last > self._removed, last, -1)

    def _is_set(self, name: str) -> Any:
        values = self._events.table[name]
        return values.is_valid().to_numpy(zero_copy_only=False)[self._events.order]

    def _is_reassigned(self) -> Any:
        counts = (
            pc.fill_null(pc.list_value_length(self._values(name, self._set[name])), 0).to_numpy()
            for name in _REASSIGNMENT
        )
        return sum(counts) > 0

    def _rows(self, at: Any, values: dict[str, pyarrow.Array]) -> dict[str, pyarrow.Array]:
        """Return columns of records: the origin of events `at`, the partitions' keys, `values`."""
        names = ("position", "timestamp", "principal", "command", "reason")
        found = {name: self._values(name, at) for name in names}
        # The key is the same in all events of a partition.
        found |= {name: self._values(name, self._ends) for name in ("topic_id", "partition_id")}
        return found | values

    def _values(self, name: str, at: Any) -> pyarrow.Array:
        places = self._events.order[at] if len(self._events.order) else at
        return self._events.table[name].take(pyarrow.array(places, mask=at < 0))


def _of_topics(records: pyarrow.Table, planned_from: dict[bytes, int]) -> pyarrow.Table:
    """Return the last record that names each topic, and all records since its first open plan."""
    (rows,) = numpy.nonzero(
        records["record"].is_valid().to_numpy() & (records["span"].to_numpy() < 0)
    )
    others = records.select(["position", "record", "topic_id"]).take(pyarrow.array(rows))
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    names: dict[bytes, int] = {}
    plans: list[int] = []
    for row, other in zip(rows.tolist(), others.to_pylist(), strict=True):
        (name,) = decoder.decode(other["record"])
        topic = other["topic_id"]
        if name == "RemoveTopicRecord":
            names.pop(topic, None)
        elif name in ("TopicRecord", "MoveTopicRecord"):
            names[topic] = row
        elif other["position"] >= planned_from.get(topic, FOR_EVER):
            plans.append(row)
    kept = pyarrow.array(sorted([*names.values(), *plans]), pyarrow.int64())
    return records.take(kept)
