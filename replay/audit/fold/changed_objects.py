"""Computes the objects that each record changed: one row per record and object."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import numpy
import pyarrow

from replay.audit.fold.changes import CHANGES, Row
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.partition_changes import Events

OBJECTS = pyarrow.schema(
    [
        *(CHANGES.field(name) for name in ("offset", "timestamp", "record", "kind", "name", "id")),
        ("fields", pyarrow.list_(pyarrow.string())),
        *(CHANGES.field(name) for name in ("principal", "command", "reason", "in_effect")),
    ]
)
"""The columns of changed objects; `fields` has the names of the changed fields, sorted."""

_KEY = itemgetter(*(CHANGES.names.index(name) for name in ("offset", "kind", "id")))
_FIELD = CHANGES.names.index("field")
_OF_OBJECT = itemgetter(
    *(CHANGES.names.index("field" if name == "fields" else name) for name in OBJECTS.names)
)
_FIELDS = OBJECTS.names.index("fields")


def changed_partitions(
    records: pyarrow.Table,
    undone: list[tuple[int, int]],
    spaces: dict[str, str],
    *,
    columns: Sequence[str] = OBJECTS.names,
) -> Iterator[pyarrow.Table]:
    """Yield one row per record and changed partition; arguments are as for `partition_changes`."""
    events = Events(records, undone, spaces)
    bits = numpy.zeros(len(events.partition), numpy.int64)
    for bit, field in enumerate(sorted(FIELDS)):
        bits |= events.values(field).changed().astype(numpy.int64) << bit
    (rows,) = numpy.nonzero(bits)
    found = events.said(rows, columns)
    distinct, codes = numpy.unique(bits[rows], return_inverse=True)
    lists = [_of_bits(each) for each in distinct.tolist()]
    fields = pyarrow.array(lists, pyarrow.list_(pyarrow.string()))
    found["fields"] = fields.take(pyarrow.array(codes))
    schema = pyarrow.schema([OBJECTS.field(name) for name in columns])
    yield pyarrow.table([found[name] for name in columns], schema=schema)


def _of_bits(bits: int) -> list[str]:
    return [field for bit, field in enumerate(sorted(FIELDS)) if bits >> bit & 1]


def changed_objects(changes: Iterable[Row]) -> Iterator[Row]:
    """Combine adjacent changes of the same record and object into one row."""
    for _, rows in groupby(changes, key=_KEY):
        some = list(rows)
        of_object = _OF_OBJECT(some[0])
        fields = sorted(row[_FIELD] for row in some)
        yield (*of_object[:_FIELDS], fields, *of_object[_FIELDS + 1 :])
