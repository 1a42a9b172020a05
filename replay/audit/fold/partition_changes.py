"""Computes the effective changes of partitions, by operations on columns.

Each record of a partition, and each removal, is an event that sets fields. Events are sorted by
partition and position, so the value before an event is that of the partition's last earlier event
that set the field. Each distinct value has a number, and these numbers are compared.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changes import CHANGES
from replay.audit.fold.event_table import (
    BEGUN,
    FIELDS,
    NO_PLAN,
    ORIGIN,
    RECORDS,
    event_table,
    names_and_removals,
    with_spans,
)
from replay.audit.fold.plans import REMOVAL
from replay.audit.fold.texts import id_text

KIND = "partitions"
_RECORDS = pyarrow.array(RECORDS)
_UNSET, _REMOVED = -2, -1
"""Stand for no value: the event does not set the field; the event removes the field's value."""

ASKED = {"asked_offset": "position", "asked_principal": "principal", "asked_reason": "reason"}
"""Columns about the record that asked for a change, each with the record's column it copies."""


@dataclass(frozen=True, eq=False)
class Values:
    """By event, the value of a field before it, and the value that the event sets.

    Values are given by number, the index in `distinct`. In place of a number, `_UNSET` means that
    the event does not set the field, and `_REMOVED` that the field has no value.
    """

    before: Any
    after: Any
    distinct: pyarrow.Array

    def changed(self) -> Any:
        """Return a mask of the events that change the value."""
        return (self.after != _UNSET) & (self.after != self.before)

    def is_replaced(self) -> Any:
        """Return a mask of the events that replace an existing value by a different one."""
        return (self.before >= 0) & (self.after >= 0) & (self.after != self.before)

    def settled(self) -> Any:
        """Return the number of the value after each event; negative if there is no value."""
        return numpy.where(self.after == _UNSET, self.before, self.after)

    def sizes(self, numbers: Any) -> Any:
        """Return the sizes of the lists with some numbers; 0 for a negative number."""
        sizes = numpy.append(pc.list_value_length(self.distinct).to_numpy(), 0)
        return sizes[numpy.maximum(numbers, -1)]

    def taken(self, numbers: Any) -> pyarrow.Array:
        """Return the values with some numbers; null for a negative number."""
        return _taken(self.distinct, numbers)

    def texts_of(self, numbers: Any) -> pyarrow.Array:
        """Return the texts of the values with some numbers; null for a negative number."""
        return _taken(self._texts, numbers)

    @cached_property
    def _texts(self) -> pyarrow.Array:
        return _texts(self.distinct)


class Events:
    """The events of partitions, sorted by partition and position.

    Attributes:
        records: The records, without those of an open transaction; `span` is that of `with_spans`.
        table: The events in the order of the records (event_table.py).
        order: Index in `table` of each event.
        partition: Number of each event's partition.
        first: Index of the first event of each event's partition.
        offset, timestamp: Offset and timestamp of each event's record.
        in_effect: Mask of the events, false for those of an aborted transaction.
    """

    def __init__(
        self, records: pyarrow.Table, undone: list[tuple[int, int]], spaces: dict[str, str]
    ) -> None:
        """Compute the events of some records; the arguments are those of `partition_changes`."""
        self.records = with_spans(records, undone)
        self._names, removals = names_and_removals(self.records, spaces)
        self.table = event_table(self.records, removals)
        self._topics = self.table["topic_id"].dictionary_encode()
        numbers = self.table["partition_id"].to_numpy()
        key = self._topics.indices.to_numpy().astype(numpy.int64) << 32 | numbers
        self.order = numpy.lexsort((self.table["position"].to_numpy(), key))
        self.partition = key[self.order]
        (starts,) = numpy.nonzero(numpy.diff(self.partition, prepend=-1))
        self.first = numpy.repeat(starts, numpy.diff(starts, append=len(key)))
        self.offset = self.table["position"].to_numpy()[self.order]
        self.timestamp = self.table["timestamp"].to_numpy()[self.order]
        self._span = self.table["span"].to_numpy()[self.order]
        self.in_effect = self._span < 0
        self.is_removal = self.table["is_removal"].to_numpy(zero_copy_only=False)
        self.planned = self.table["planned"].to_numpy(zero_copy_only=False)

    def is_of(self, record: str) -> Any:
        """Return a mask of the events of a record type, without those of aborted transactions."""
        is_it = self.table["record"].to_numpy() == RECORDS.index(record)
        return is_it[self.order] & self.in_effect

    def begins_reassignment(self) -> Any:
        """Return a mask of the events, none aborted, that begin or change a reassignment."""
        adding, removing = self.values("adding_replicas"), self.values("removing_replicas")
        is_ = adding.sizes(adding.settled()) + removing.sizes(removing.settled()) > 0
        return (adding.changed() | removing.changed()) & is_ & self.is_of("PartitionChangeRecord")

    def said(self, rows: Any, columns: Collection[str]) -> dict[str, pyarrow.Array]:
        """Return the requested columns that are equal for all fields that an event changes.

        They are the record's offset, time, type and origin, and the partition's kind, id and name.

        Args:
            rows: The indices of the events.
        """
        places = pyarrow.array(self.order[rows])
        found = {
            each: self.table[each].take(places)
            for each in ("timestamp", *ORIGIN)
            if each in columns
        }
        if "record" in columns:
            found["record"] = _RECORDS.take(self.table["record"].take(places))
        found["offset"] = pyarrow.array(self.offset[rows])
        found["in_effect"] = pyarrow.array(self.in_effect[rows])
        found["kind"] = pyarrow.repeat(KIND, len(rows))
        if not {"id", "name"}.isdisjoint(columns):
            labels = pyarrow.array(self._label[rows])
            found |= {name: texts.take(labels) for name, texts in self._labels.items()}
        return {name: values for name, values in found.items() if name in columns}

    def values(self, field: str) -> Values:
        """Return the values of a field, one of `FIELDS`."""
        after, distinct = _numbered(self.table[field])
        after[self.is_removal] = _REMOVED
        after = after[self.order]
        return Values(_before(after, self._span, self.first), after, distinct)

    def asked(
        self, rows: Any, kept_from: int, columns: Collection[str]
    ) -> dict[str, pyarrow.Array]:
        """Return, for some events, the requested columns about the record that asked for each.

        Args:
            rows: The indices of the events.
            kept_from: First offset after the base. A record of the base is never the one that
                asked for a change, because the base only says what the state was.
        """
        wanted = [name for name in ASKED if name in columns]
        if not wanted:
            return {}
        by = self._asked_by[rows]
        by = numpy.where((by < 0) | (self.offset[by] < kept_from), -1, by)
        places = pyarrow.array(self.order[by], mask=by < 0)
        return {name: self.table[ASKED[name]].take(places) for name in wanted}

    @cached_property
    def _asked_by(self) -> Any:
        """Index, by event, of the event whose plan the event carries out; -1 if there is none."""
        is_change, is_whole, is_removal = (
            self.is_of(name) for name in ("PartitionChangeRecord", "PartitionRecord", REMOVAL)
        )
        has_mode = self.table["mode"].is_valid().to_numpy(zero_copy_only=False)[self.order]
        planned = self.planned[self.order]
        begun = _last_before((planned != NO_PLAN) & self.in_effect, self.first)
        is_planned = (begun >= 0) & (planned[begun] == BEGUN)
        found = numpy.where((is_change & has_mode | is_removal) & is_planned, begun, -1)
        rows, by = self._reassignments_done(is_change, is_whole)
        found[rows] = by
        return found

    def _reassignments_done(self, is_change: Any, is_whole: Any) -> tuple[Any, Any]:
        """Return the events that finish a reassignment, and those that began it.

        Args:
            is_change, is_whole: Masks of the events of a PartitionChangeRecord, and of a
                PartitionRecord, in effect.
        """
        adding, removing, replicas = (
            self.values(name) for name in ("adding_replicas", "removing_replicas", "replicas")
        )
        was = adding.sizes(adding.before) + removing.sizes(removing.before) > 0
        is_ = adding.sizes(adding.settled()) + removing.sizes(removing.settled()) > 0
        changed = (adding.changed() | removing.changed()) & is_change
        # What a PartitionRecord says about a reassignment is a state.
        begun = _last_before((changed & is_) | is_whole, self.first)
        (rows,) = numpy.nonzero(changed & was & ~is_ & (begun >= 0) & ~is_whole[begun])
        lists = (
            adding.taken(adding.before[rows]),
            removing.taken(removing.before[rows]),
            replicas.taken(replicas.settled()[rows]),
        )
        sets = zip(*([set(some or ()) for some in each.to_pylist()] for each in lists), strict=True)
        # Else it was called off.
        done = [added <= now and removed.isdisjoint(now) for added, removed, now in sets]
        rows = rows[numpy.array(done, bool)]
        return rows, begun[rows]

    @cached_property
    def _label(self) -> Any:
        """Index in `_labels`, by event, of the id and name of the event's partition."""
        is_other = self.first == numpy.arange(len(self.first))
        is_other |= numpy.diff(self._name, prepend=-1) != 0
        return numpy.cumsum(is_other) - 1

    @cached_property
    def _labels(self) -> dict[str, pyarrow.Array]:
        """Ids and names of partitions, with one entry for each name that a partition has had."""
        (starts,) = numpy.nonzero(numpy.diff(self._label, prepend=-1))
        places = pyarrow.array(self.order[starts])
        numbers = self.table["partition_id"].take(places).cast(pyarrow.string())
        texts = map(id_text, self._topics.dictionary.to_pylist())
        ids = pyarrow.array(texts, pyarrow.string()).take(self._topics.indices.take(places))
        names = pyarrow.array((name for _, _, name in self._taken), pyarrow.string())
        taken = pyarrow.array(self._name[starts], mask=self._name[starts] < 0)
        return {
            "id": pc.binary_join_element_wise(ids, numbers, "/"),
            "name": pc.binary_join_element_wise(pc.coalesce(names.take(taken), ids), numbers, "/"),
        }

    @cached_property
    def _name(self) -> Any:
        """By event, the index in `_taken` of the topic's name at that time; -1 if it has none."""
        of, at = (numpy.array([each[n] for each in self._taken], numpy.int64) for n in (0, 1))
        _, ranks = numpy.unique(numpy.concatenate([self.offset, at]), return_inverse=True)
        codes = self.partition >> 32
        keys = of << 32 | ranks[len(codes) :]
        found = numpy.searchsorted(keys, codes << 32 | ranks[: len(codes)], "right") - 1
        return numpy.where(numpy.append(of, -1)[found] == codes, found, -1)

    @cached_property
    def _taken(self) -> list[tuple[int, int, str]]:
        """Topic number, position and name for each time a topic took a name, in ascending order."""
        topics = enumerate(self._topics.dictionary.to_pylist())
        names = ((number, self._names.get(topic, ())) for number, topic in topics)
        return [(number, at, name) for number, taken in names for at, name in taken]


def partition_changes(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    fields: Sequence[str] = FIELDS,
    kept_from: int = 0,
    columns: Sequence[str] = CHANGES.names,
) -> Iterator[pyarrow.Table]:
    """Yield the changes of partitions, one table per field.

    Args:
        records: All records of some topics, in order. Columns: those of `SAID`, `record` (as
            JSON; null if the record is of a partition), and those of `rows_of`.
        undone: The first and the last position of each aborted or still open transaction.
        spaces: The names of all namespaces, by id.
        fields: The fields whose changes are needed.
        kept_from: First offset after the base. A record of the base is never the one that asked
            for a change, because the base only says what the state was.
        columns: The columns of `CHANGES` that are needed.
    """
    yield from changes_of(
        Events(records, undone, spaces), fields=fields, kept_from=kept_from, columns=columns
    )


def changes_of(
    events: Events, *, fields: Sequence[str], kept_from: int, columns: Sequence[str]
) -> Iterator[pyarrow.Table]:
    """Yield the changes that events make, one table per field; see `partition_changes`."""
    schema = pyarrow.schema([CHANGES.field(name) for name in columns])
    for field in fields:
        values = events.values(field)
        (changed,) = numpy.nonzero(values.changed())
        rows = events.said(changed, columns) | events.asked(changed, kept_from, columns)
        for name, numbers in (("before", values.before), ("after", values.after)):
            if name in columns:
                rows[name] = values.texts_of(numbers[changed])
        rows["field"] = pyarrow.repeat(field, len(changed))
        yield pyarrow.table([rows[name] for name in columns], schema=schema)


def _before(after: Any, span: Any, first: Any) -> Any:
    """Return the number of the value before each event.

    Args:
        after: By event, the number of the value that it sets; sorted by partition and position.
        span: By event, the number of the aborted transaction that it belongs to; -1 if none.
        first: By event, the index of the first event of the same partition.
    """
    is_set = after != _UNSET
    last = _last_before(is_set & (span < 0), first)
    if (span >= 0).any():
        aborted = _last_before(is_set, first)
        # Only in its own transaction, an event sees what was aborted.
        own = (span >= 0) & (aborted >= 0) & (span[aborted] == span)
        last = numpy.where(own, aborted, last)
    return numpy.where(last < 0, _REMOVED, after[last])


def _last_before(among: Any, first: Any) -> Any:
    """Return, by event, the index of the partition's last earlier event in the mask, or -1."""
    places = numpy.where(among, numpy.arange(len(among)), -1)
    last = numpy.append(-1, numpy.maximum.accumulate(places)[:-1])
    return numpy.where(last < first, -1, last)


def _numbered(values: pyarrow.Array) -> tuple[Any, pyarrow.Array]:
    """Return the number of each value (`_UNSET` for null), and the numbered values."""
    numbers = numpy.full(len(values), _UNSET)
    is_valid = values.is_valid().to_numpy(zero_copy_only=False)
    values = values.drop_null()
    keys = _keys(values).dictionary_encode()
    numbers[is_valid] = keys.indices.to_numpy()
    # One of the rows with each number.
    rows = numpy.empty(len(keys.dictionary), numpy.int64)
    rows[keys.indices.to_numpy()] = numpy.arange(len(values))
    return numbers, values.take(pyarrow.array(rows))


def _taken(values: pyarrow.Array, numbers: Any) -> pyarrow.Array:
    return values.take(pyarrow.array(numbers, mask=numbers < 0))


def _keys(values: pyarrow.Array) -> pyarrow.Array:
    """Return keys that are equal where the values are equal; lists become bytes, for speed."""
    if not pyarrow.types.is_list(values.type):
        return values
    items = values.flatten()
    if items.type == pyarrow.binary():
        items = items.dictionary_encode().indices
    octets = items.to_numpy()
    ends = numpy.cumsum(pc.list_value_length(values).to_numpy(), dtype=numpy.int32)
    bounds = numpy.append(numpy.int32(0), ends) * numpy.int32(octets.itemsize)
    buffers = [None, pyarrow.py_buffer(bounds), pyarrow.py_buffer(octets)]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(values), buffers)


def _texts(values: pyarrow.Array) -> pyarrow.Array:
    """Return the text of each value, which is an integer, or a list of integers or ids."""
    if not pyarrow.types.is_list(values.type):
        return values.cast(pyarrow.string())
    items = values.flatten()
    if items.type == pyarrow.binary():
        distinct = items.dictionary_encode()
        quoted = (f'"{id_text(each)}"' for each in distinct.dictionary.to_pylist())
        items = pyarrow.array(quoted, pyarrow.string()).take(distinct.indices)
    ends = numpy.cumsum(pc.list_value_length(values).to_numpy(), dtype=numpy.int32)
    lists = pyarrow.ListArray.from_arrays([0, *ends], items.cast(pyarrow.string()))
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")
