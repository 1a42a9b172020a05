"""Computes which fields differ between two states: all changes of a field as one row."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy
import pyarrow

from replay.audit.fold.changes import CHANGES, Row
from replay.audit.fold.partition_changes import FIELDS, KIND, Events

_ORIGIN = ("principal", "command", "reason")

NET = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("kind", "id", "name", "field", "before", "after")),
        ("changes", pyarrow.int64()),
        *(CHANGES.field(name) for name in ("offset", "timestamp", *_ORIGIN)),
    ]
)
"""The columns of net changes, of fields whose value differs: the value before the first change in
effect and the one after the last, the number of changes, the latest timestamp, and the rest as in
the last change.
"""

_PLACES = {name: place for place, name in enumerate(CHANGES.names)}
_KEY = itemgetter(*(_PLACES[name] for name in ("kind", "id", "field")))
_BEFORE, _AFTER = _PLACES["before"], _PLACES["after"]
_IN_EFFECT, _OFFSET, _TIMESTAMP = (_PLACES[name] for name in ("in_effect", "offset", "timestamp"))

_OF_LAST = ("offset", "id", "name", *_ORIGIN)


def net_partition_changes(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    first: int,
    columns: Sequence[str] = NET.names,
) -> Iterator[pyarrow.Table]:
    """Yield the net changes of partitions from an offset on, a table for each field.

    The other arguments are as for `partition_changes`.
    """
    events = Events(records, undone, spaces, {*columns, "offset", "timestamp"})
    among = events.in_effect & (events.said["offset"].to_numpy() >= first)
    timestamps = events.said["timestamp"].to_numpy()
    schema = pyarrow.schema([NET.field(name) for name in columns])
    for field in FIELDS:
        values = events.values(field)
        (changed,) = numpy.nonzero(values.changed() & among)
        of = events.partition[changed]
        (starts,) = numpy.nonzero(numpy.diff(of, prepend=-1))
        ends = numpy.append(starts[1:], len(of))[: len(starts)]
        before, after = values.before[changed[starts]], values.after[changed[ends - 1]]
        latest = numpy.maximum.reduceat(timestamps[changed], starts) if len(starts) else starts
        is_net = before != after
        last = events.said.take(pyarrow.array(changed[ends - 1][is_net]))
        found = {name: last[name] for name in _OF_LAST if name in columns} | {
            "kind": pyarrow.repeat(KIND, last.num_rows),
            "field": pyarrow.repeat(field, last.num_rows),
            "changes": pyarrow.array((ends - starts)[is_net]),
            "timestamp": pyarrow.array(latest[is_net]),
        }
        for name, numbers in (("before", before[is_net]), ("after", after[is_net])):
            found[name] = values.texts.take(pyarrow.array(numbers, mask=numbers < 0))
        yield pyarrow.table([found[name] for name in columns], names=list(columns)).cast(schema)


def net_changes(changes: Iterable[Row], first: int) -> Iterator[Row]:
    """Yield the net changes of other objects from an offset on."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in changes:
        if row[_IN_EFFECT] and row[_OFFSET] >= first:
            found[_KEY(row)].append(row)
    for rows in found.values():
        # A config that waited for its topic takes effect after later records.
        rows.sort(key=itemgetter(_OFFSET))
        before, last = rows[0][_BEFORE], rows[-1]
        if before != last[_AFTER]:
            net = dict(zip(CHANGES.names, last, strict=True))
            net |= {"before": before, "changes": len(rows)}
            net["timestamp"] = max(row[_TIMESTAMP] for row in rows)
            yield tuple(net[name] for name in NET.names)
