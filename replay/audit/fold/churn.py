"""Counts the leader changes and ISR shrinks of partitions by hour."""

from collections.abc import Iterator, Sequence

import numpy
import pyarrow

from replay.audit.fold.changes import CHANGES
from replay.audit.fold.groups import Groups
from replay.audit.fold.partition_changes import Events

HOUR_MS = 3_600_000

CHURN = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("timestamp", "name", "id")),
        ("leader_changes", pyarrow.int64()),
        ("isr_shrinks", pyarrow.int64()),
    ]
)
"""The columns of churn: start of the hour, partition, number of leader changes and ISR shrinks."""


def partition_churn(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    first: int,
    columns: Sequence[str] = CHURN.names,
) -> Iterator[pyarrow.Table]:
    """Yield the leader changes and ISR shrinks from offset `first` on, by partition and hour.

    The other arguments are as for `partition_changes`.
    """
    events = Events(records, undone, spaces)
    leader, isr = events.values("leader"), events.values("isr")
    among = events.in_effect & (events.offset >= first)
    is_elected = leader.is_replaced() & among
    (replaced,) = numpy.nonzero(isr.is_replaced() & among)
    is_shrunk = numpy.zeros(len(among), bool)
    is_shrunk[replaced] = isr.sizes(isr.after[replaced]) < isr.sizes(isr.before[replaced])
    (rows,) = numpy.nonzero(is_elected | is_shrunk)
    hours = events.timestamp // HOUR_MS * HOUR_MS
    rows = rows[numpy.lexsort((hours[rows], events.partition[rows]))]
    groups = Groups.of(events.partition[rows], hours[rows])
    found = events.said(rows[groups.last], columns) | {
        "timestamp": hours[rows][groups.first],
        "leader_changes": groups.sums(is_elected[rows]),
        "isr_shrinks": groups.sums(is_shrunk[rows]),
    }
    schema = pyarrow.schema([CHURN.field(name) for name in columns])
    yield pyarrow.table([found[name] for name in columns], schema=schema)
