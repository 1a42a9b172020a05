"""Computes the states of partitions over time, by operations on columns."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy
import pyarrow

from replay.audit.fold.changes import CHANGES
from replay.audit.fold.partition_changes import Events, Values

INTS = pyarrow.list_(pyarrow.int32())
FIELDS = {
    "leader": pyarrow.int32(),
    "isr": INTS,
    "replicas": INTS,
    "adding_replicas": INTS,
    "removing_replicas": INTS,
    "eligible_leader_replicas": INTS,
    "leader_recovery_state": pyarrow.int32(),
    "mode": pyarrow.int32(),
}
"""The fields that make up a state, and their types."""

OLD = "old_"
"""Prefix of the columns with the fields of the previous state."""

SAID = ("offset", "timestamp", "id", "name", "record", "principal", "command", "reason")

STATES = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in SAID),
        ("is_first", pyarrow.bool_()),
        ("end_offset", pyarrow.int64()),
        ("end_timestamp", pyarrow.int64()),
        *FIELDS.items(),
        *((f"{OLD}{name}", type_) for name, type_ in FIELDS.items()),
    ]
)
"""The columns of states. The fields are null once the partition is removed, the end is null if the
state has not ended. `is_first` is true for a partition's first state.
"""


def partition_states(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    columns: Collection[str],
) -> Iterator[pyarrow.Table]:
    """Yield the states of partitions; a state begins at each record in effect that changes a field.

    Args:
        records, undone, spaces: As for `partition_changes`.
        columns: The columns of `STATES` that are needed.
    """
    events = Events(records, undone, spaces)
    values = {name: events.values(name) for name in FIELDS}
    rows = state_changes(events, values)
    found: dict[str, Any] = events.said(rows, columns)
    is_other = numpy.diff(events.partition[rows], prepend=-1, append=-1) != 0
    found["is_first"] = pyarrow.array(is_other[:-1])
    for name, numbers in (("offset", events.offset), ("timestamp", events.timestamp)):
        following = numpy.append(numbers[rows][1:], 0)[: len(rows)]
        found[f"end_{name}"] = pyarrow.array(following, mask=is_other[1:])
    for name, each in values.items():
        for column, numbers in ((name, each.settled()), (f"{OLD}{name}", each.before)):
            if column in columns:
                found[column] = each.taken(numbers[rows])
    needed = pyarrow.schema([field for field in STATES if field.name in columns])
    yield pyarrow.table([found[name] for name in needed.names], schema=needed)


def state_changes(events: Events, values: dict[str, Values]) -> Any:
    """Return the indices of the events in effect at which a state begins."""
    is_changed = numpy.any([each.changed() for each in values.values()], axis=0)
    return numpy.nonzero(is_changed & events.in_effect)[0]
