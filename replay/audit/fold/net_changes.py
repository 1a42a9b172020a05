"""Computes which fields differ between two states: all changes of a field become one row."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy
import pyarrow

from replay.audit.fold.changes import CHANGES, Row
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.groups import Groups
from replay.audit.fold.partition_changes import Events

_ORIGIN = ("principal", "command", "reason")

NET = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("kind", "id", "name", "field", "before", "after")),
        ("changes", pyarrow.int64()),
        *(CHANGES.field(name) for name in ("offset", "timestamp", *_ORIGIN)),
    ]
)
"""The columns of net changes.

`before` is the value before the first change in effect, `after` the value after the last one,
`changes` their number, `timestamp` the latest time; the other columns are as in the last change.
"""

_PLACES = {name: place for place, name in enumerate(CHANGES.names)}
_KEY = itemgetter(*(_PLACES[name] for name in ("kind", "id", "field")))
_BEFORE, _AFTER = _PLACES["before"], _PLACES["after"]
_IN_EFFECT, _OFFSET, _TIMESTAMP = (_PLACES[name] for name in ("in_effect", "offset", "timestamp"))


def net_partition_changes(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    first: int,
    columns: Sequence[str] = NET.names,
) -> Iterator[pyarrow.Table]:
    """Yield the net changes of partitions from offset `first` on, one table per field.

    The other arguments are as for `partition_changes`.
    """
    events = Events(records, undone, spaces)
    among = events.in_effect & (events.offset >= first)
    schema = pyarrow.schema([NET.field(name) for name in columns])
    for field in FIELDS:
        values = events.values(field)
        (changed,) = numpy.nonzero(values.changed() & among)
        groups = Groups.of(events.partition[changed])
        before, after = values.before[changed[groups.first]], values.after[changed[groups.last]]
        is_net = before != after
        last = changed[groups.last[is_net]]
        found = events.said(last, columns) | {
            "field": pyarrow.repeat(field, len(last)),
            "before": values.texts_of(before[is_net]),
            "after": values.texts_of(after[is_net]),
            "changes": groups.sizes()[is_net],
            "timestamp": groups.greatest(events.timestamp[changed])[is_net],
        }
        yield pyarrow.table([found[name] for name in columns], schema=schema)


def net_changes(changes: Iterable[Row], first: int) -> Iterator[Row]:
    """Yield the net changes of all other objects from offset `first` on."""
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
