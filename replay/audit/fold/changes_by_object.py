"""Adds up the changes of each object by principal and command."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changes import CHANGES
from replay.audit.fold.partition_changes import FIELDS, KIND, Events

_LAST = ("kind", "id", "name", "principal", "command", "offset")
_REMOVALS = ("RemoveTopicRecord", "RemovePartitionsRecord")
"""Records that change partitions and other objects."""

BY_OBJECT = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in _LAST),
        ("changes", pyarrow.int64()),
        ("records", pyarrow.int64()),
        ("shared", pyarrow.list_(pyarrow.int64())),
        ("first_timestamp", pyarrow.int64()),
        ("last_timestamp", pyarrow.int64()),
    ]
)
"""The columns of changes by object: the object, who changed it and the last offset; how many fields
and records; the offsets of those among the records that may change other objects too; times.
"""


def partition_changes_by_object(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    first: int,
    columns: Sequence[str] = BY_OBJECT.names,
) -> Iterator[pyarrow.Table]:
    """Yield the changes of partitions from an offset on, added up.

    The other arguments are as for `partition_changes`.
    """
    needed = {*columns, "offset", "timestamp", "principal", "command", "record"}
    events = Events(records, undone, spaces, needed)
    counts = sum(events.values(field).changed().astype(numpy.int64) for field in FIELDS)
    is_from = events.said["offset"].to_numpy() >= first
    (rows,) = numpy.nonzero((counts > 0) & events.in_effect & is_from)
    said = events.said.take(pyarrow.array(rows))
    said = said.append_column("kind", pyarrow.repeat(KIND, len(rows)))
    is_shared = pc.is_in(said["record"], pyarrow.array(_REMOVALS)).to_numpy()
    yield _sums(said, events.partition[rows], counts[rows], is_shared, columns)


def others_by_object(
    objects: pyarrow.Table, first: int, columns: Sequence[str] = BY_OBJECT.names
) -> pyarrow.Table:
    """Return the changes of other objects from an offset on, added up.

    Args:
        objects: The columns `OBJECTS`.
    """
    is_needed = pc.and_(objects["in_effect"], pc.greater_equal(objects["offset"], first))
    # A config that waited for its topic comes after later records.
    said = objects.filter(is_needed).sort_by("offset")
    keys = pc.binary_join_element_wise(said["kind"], said["id"], "/")
    offsets = said["offset"].to_numpy()
    _, numbers, counts = numpy.unique(offsets, return_inverse=True, return_counts=True)
    is_removal = pc.is_in(said["record"], pyarrow.array(_REMOVALS)).to_numpy()
    fields = pc.list_value_length(said["fields"]).to_numpy().astype(numpy.int64)
    return _sums(said, _codes(keys), fields, is_removal | (counts[numbers] > 1), columns)


def _sums(
    said: pyarrow.Table, objects: Any, changes: Any, is_shared: Any, columns: Sequence[str]
) -> pyarrow.Table:
    """Add up rows, which are in order for each object.

    Args:
        said: The columns `_LAST` as far as they are needed, and timestamp.
        objects: The number of the object of each row.
        changes: How many fields changed.
        is_shared: A mask of the rows whose record may be the record of other objects, too.
    """
    order = numpy.lexsort((_codes(said["command"]), _codes(said["principal"]), objects))
    keys = [objects[order], *(_codes(said[name])[order] for name in ("principal", "command"))]
    is_first = numpy.any([numpy.diff(key, prepend=-2) != 0 for key in keys], axis=0)
    (starts,) = numpy.nonzero(is_first)
    ends = numpy.append(starts[1:], len(order))[: len(starts)]
    rows = said.take(pyarrow.array(order[ends - 1]))
    found: dict[str, Any] = {name: rows[name] for name in _LAST if name in rows.column_names}
    shared, offsets = is_shared[order], said["offset"].to_numpy()[order]
    bounds = numpy.append(0, numpy.cumsum(shared))[numpy.append(starts, len(order))]
    found["shared"] = pyarrow.ListArray.from_arrays(
        pyarrow.array(bounds, pyarrow.int32()), offsets[shared]
    )
    found["changes"] = _reduced(numpy.add, changes[order], starts)
    found["records"] = ends - starts
    times = said["timestamp"].to_numpy()[order]
    found["first_timestamp"] = _reduced(numpy.minimum, times, starts)
    found["last_timestamp"] = _reduced(numpy.maximum, times, starts)
    schema = pyarrow.schema([BY_OBJECT.field(name) for name in columns])
    return pyarrow.table([found[name] for name in columns], schema=schema)


def _reduced(function: Any, values: Any, starts: Any) -> Any:
    return function.reduceat(values, starts) if len(starts) else values[:0]


def _codes(values: pyarrow.ChunkedArray) -> Any:
    """Return a number for each value, -1 for null."""
    numbers = values.combine_chunks().dictionary_encode().indices
    return numbers.fill_null(-1).to_numpy().astype(numpy.int64)
