"""Computes totals of the changes, by object and by principal and command."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changes import CHANGES
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.groups import Groups
from replay.audit.fold.partition_changes import Events

_REMOVALS = ("RemoveTopicRecord", "RemovePartitionsRecord")
"""Types of records that change partitions together with other objects."""

_NEEDED = ("kind", "offset", "timestamp", "principal", "command")

_COUNTS = [
    ("changes", pyarrow.int64()),
    ("records", pyarrow.int64()),
    ("first_timestamp", pyarrow.int64()),
    ("last_timestamp", pyarrow.int64()),
]

BY_OBJECT = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("kind", "id", "name")),
        *_COUNTS,
        ("principals", pyarrow.list_(pyarrow.string())),
    ]
)
"""The columns of changes by object, with the object's last name and its principals, sorted."""

BY_PRINCIPAL = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("principal", "command")),
        *_COUNTS,
        ("shared", pyarrow.list_(pyarrow.int64())),
        ("objects", pyarrow.int64()),
    ]
)
"""The columns of changes by principal; the query adds up rows of the same principal and command.

`records` counts the records that changed only one object; `shared` has the offsets of the others.
"""


class Changed(NamedTuple):
    """Changes in effect, one entry per record and object.

    Attributes:
        said: The columns of the changes; the entries of each object are in log order.
        objects: By entry, the number of the object.
        changes: By entry, the number of changed fields.
        is_shared: Mask of the entries whose record may also change other objects.
    """

    said: pyarrow.Table
    objects: Any
    changes: Any
    is_shared: Any


def by_object(changed: Changed, columns: Sequence[str]) -> pyarrow.Table:
    """Return the totals of changes by object: the given columns of `BY_OBJECT`."""
    order = numpy.argsort(changed.objects, kind="stable")
    groups = Groups.of(changed.objects[order])
    said = changed.said.take(pyarrow.array(order[groups.last]))
    found: dict[str, Any] = {name: said[name] for name in ("kind", "id", "name")}
    found["records"] = groups.sizes()
    if "principals" in columns:
        names = sorted({*changed.said["principal"].unique().drop_null().to_pylist()})
        texts = pyarrow.array(names, pyarrow.string())
        numbers = pc.index_in(changed.said["principal"], texts).fill_null(-1).to_numpy()[order]
        bounds, kept = _distinct(groups, numbers, numbers >= 0)
        found["principals"] = pyarrow.ListArray.from_arrays(bounds, texts.take(kept))
    return _table(found, changed, order, groups, BY_OBJECT, columns)


def by_principal(changed: Changed, columns: Sequence[str]) -> pyarrow.Table:
    """Return the totals of changes by principal and command, in columns of `BY_PRINCIPAL`."""
    keys = [_codes(changed.said[name]) for name in ("principal", "command")]
    order = numpy.lexsort((changed.objects, *keys))
    keys = [key[order] for key in keys]
    groups = Groups.of(*keys)
    said = changed.said.take(pyarrow.array(order[groups.last]))
    found: dict[str, Any] = {name: said[name] for name in ("principal", "command")}
    is_object = numpy.zeros(len(order), bool)
    is_object[Groups.of(*keys, changed.objects[order]).first] = True
    found["objects"] = groups.sums(is_object)
    is_shared = changed.is_shared[order]
    found["records"] = groups.sums(~is_shared)
    offsets = changed.said["offset"].to_numpy()[order]
    found["shared"] = pyarrow.ListArray.from_arrays(*_distinct(groups, offsets, is_shared))
    return _table(found, changed, order, groups, BY_PRINCIPAL, columns)


AddUp = Callable[[Changed, Sequence[str]], pyarrow.Table]
"""Computes totals of changes; either `by_object` or `by_principal`."""


def summed_partitions(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    first: int,
    add_up: AddUp,
    columns: Sequence[str],
) -> Iterator[pyarrow.Table]:
    """Yield the totals, by `add_up`, of the changes of partitions from offset `first` on.

    The other arguments are as for `partition_changes`.
    """
    events = Events(records, undone, spaces)
    counts = sum(events.values(field).changed().astype(numpy.int64) for field in FIELDS)
    (rows,) = numpy.nonzero((counts > 0) & events.in_effect & (events.offset >= first))
    said = pyarrow.table(events.said(rows, {*columns, *_NEEDED}))
    is_shared = events.is_removal[events.order[rows]]
    yield add_up(Changed(said, events.partition[rows], counts[rows], is_shared), columns)


def summed_others(
    objects: pyarrow.Table, *, first: int, add_up: AddUp, columns: Sequence[str]
) -> pyarrow.Table:
    """Return the totals, by `add_up`, of the changes of other objects from offset `first` on.

    Args:
        objects: Rows with the columns `OBJECTS`.
    """
    is_needed = pc.and_(objects["in_effect"], pc.greater_equal(objects["offset"], first))
    # A config that waited for its topic comes after later records.
    said = objects.filter(is_needed).sort_by("offset")
    numbers = _codes(pc.binary_join_element_wise(said["kind"], said["id"], "/"))
    offsets = said["offset"].to_numpy()
    _, records, counts = numpy.unique(offsets, return_inverse=True, return_counts=True)
    is_removal = pc.is_in(said["record"], pyarrow.array(_REMOVALS)).to_numpy()
    fields = pc.list_value_length(said["fields"]).to_numpy().astype(numpy.int64)
    return add_up(Changed(said, numbers, fields, is_removal | (counts[records] > 1)), columns)


def _codes(values: pyarrow.ChunkedArray) -> Any:
    """Return a number for each value, the same for equal values; -1 for null."""
    numbers = values.combine_chunks().dictionary_encode().indices
    return numbers.fill_null(-1).to_numpy().astype(numpy.int64)


def _table(
    found: dict[str, Any],
    changed: Changed,
    order: Any,
    groups: Groups,
    schema: pyarrow.Schema,
    columns: Sequence[str],
) -> pyarrow.Table:
    """Return a table of `columns`: those in `found`, and the counts and times of each group.

    `order` sorts the changes by group.
    """
    times = changed.said["timestamp"].to_numpy()[order]
    found["changes"] = groups.sums(changed.changes[order])
    found["first_timestamp"] = groups.least(times)
    found["last_timestamp"] = groups.greatest(times)
    needed = pyarrow.schema([schema.field(name) for name in columns])
    return pyarrow.table([found[name] for name in columns], schema=needed)


def _distinct(groups: Groups, values: Any, among: Any) -> tuple[Any, Any]:
    """Return, for each group, the sorted distinct values of its rows in the mask `among`.

    Returns:
        The offsets and the values from which to build an Arrow list array.
    """
    of = numpy.repeat(numpy.arange(len(groups.first)), groups.sizes())[among]
    values = values[among]
    order = numpy.lexsort((values, of))
    kept = order[Groups.of(of[order], values[order]).first]
    bounds = numpy.searchsorted(of[kept], numpy.arange(len(groups.first) + 1))
    return pyarrow.array(bounds, pyarrow.int32()), pyarrow.array(values[kept])
