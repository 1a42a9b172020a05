"""Adds up the time during which partitions have no leader, or are under-replicated."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changes import CHANGES
from replay.audit.fold.groups import Groups
from replay.audit.fold.partition_changes import Events, Values
from replay.audit.fold.partition_states import state_changes

_COUNTS = ("outages", "unavailable_ms", "shortages", "under_replicated_ms")
OUTAGES = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("name", "id")),
        *((name, pyarrow.int64()) for name in _COUNTS),
    ]
)
"""The columns of outages.

`outages` is the number of times without a leader, `shortages` the number of times with fewer
replicas in sync than assigned; the `_ms` columns are their total durations. A partition that was
taken offline to be removed is in neither.
"""

_FIELDS = ("leader", "isr", "replicas", "adding_replicas", "mode")
_NONE = -1
"""The leader of a partition without one, and the mode of a partition that is to be removed."""


class Period(NamedTuple):
    """A range of offsets: its first offset, and the times of its start and end in ms."""

    first: int
    first_ms: int
    last_ms: int


def partition_outages(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    period: Period,
    columns: Sequence[str] = OUTAGES.names,
) -> Iterator[pyarrow.Table]:
    """Yield the partitions that had no leader or were under-replicated in a period, with totals.

    The other arguments are as for `partition_changes`.
    """
    events = Events(records, undone, spaces)
    values = {name: events.values(name) for name in _FIELDS}
    rows = state_changes(events, values)
    groups = Groups.of(events.partition[rows])
    lengths = _lengths(events.offset[rows], events.timestamp[rows], groups, period)
    is_known = events.offset[rows] <= period.first
    is_known[groups.first] = True
    sums: list[Any] = []
    leaderless, removed = _is_none(values["leader"], rows), _is_none(values["mode"], rows)
    is_offline, was_offline = (down & gone for down, gone in zip(leaderless, removed, strict=True))
    for is_so, was_so in (leaderless, _under_replicated(values, rows)):
        among = is_so & ~is_offline & (lengths >= 0)
        sums.append(groups.sums(among & (is_known | ~was_so | was_offline)))
        sums.append(groups.sums(numpy.where(among, lengths, 0)))
    (found,) = numpy.nonzero((sums[0] > 0) | (sums[2] > 0))
    table = events.said(rows[groups.last[found]], columns)
    table |= {name: each[found] for name, each in zip(_COUNTS, sums, strict=True)}
    schema = pyarrow.schema([OUTAGES.field(name) for name in columns])
    yield pyarrow.table([table[name] for name in columns], schema=schema)


def _lengths(offsets: Any, times: Any, groups: Groups, period: Period) -> Any:
    """Return the duration in ms of each partition state within a period; -1 if it ended before."""
    ends, end_times = (numpy.append(each[1:], 0)[: len(each)] for each in (offsets, times))
    ends[groups.last], end_times[groups.last] = period.first + 1, period.last_ms
    begins = numpy.where(offsets >= period.first, times, period.first_ms)
    return numpy.where(ends > period.first, numpy.maximum(end_times - begins, 0), -1)


def _is_none(values: Values, rows: Any) -> tuple[Any, Any]:
    """Return two masks of events: the field is `_NONE` after the event, and before it."""
    is_none = numpy.append(pc.equal(values.distinct, _NONE).to_numpy(zero_copy_only=False), False)
    # The last is taken for a negative number, in place of a value's.
    after, before = values.settled()[rows], values.before[rows]
    return is_none[numpy.maximum(after, -1)], is_none[numpy.maximum(before, -1)]


def _under_replicated(values: dict[str, Values], rows: Any) -> tuple[Any, Any]:
    """Return two masks of events: under-replicated after the event, and before it.

    A partition is under-replicated if fewer replicas are in sync than are assigned, without those
    that a reassignment is adding.
    """
    names = ("isr", "replicas", "adding_replicas")
    isr, replicas, adding = (_sizes(values[name], rows) for name in names)
    return isr[0] < replicas[0] - adding[0], isr[1] < replicas[1] - adding[1]


def _sizes(values: Values, rows: Any) -> tuple[Any, Any]:
    """Return the sizes of a list field after and before each event; 0 if it has no value."""
    return values.sizes(values.settled()[rows]), values.sizes(values.before[rows])
