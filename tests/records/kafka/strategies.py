"""Hypothesis strategies for records that a version of Kafka's layout can encode.

They are cached, because Hypothesis checks a strategy at its first use, which takes longer than the
use itself.
"""

import functools
from typing import Any

from hypothesis import strategies as st

from records.base import Record
from records.kafka.layout import (
    ArrayOf,
    Field,
    FieldType,
    Layout,
    control_types,
    layout,
    metadata_types,
)
from records.registry import schema

_INTEGERS = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_LONG_TEXT = st.integers(120, 300).map(lambda size: "x" * size)


def all_layouts() -> list[Layout]:
    """Return the layout of every version of every record type that Kafka knows."""
    types = [*metadata_types().values(), *control_types().values()]
    return [layout(cls, version) for cls in types for version in versions(cls)]


def versions(cls: type[Record]) -> range:
    """Return all versions of a record type."""
    first, _, last = schema(cls.__name__)["kafka"]["versions"].partition("-")
    return range(int(first), int(last or first) + 1)


@functools.cache
def records(of: Layout) -> st.SearchStrategy[Any]:
    """Return a strategy for records that a layout can encode."""
    fields = {field.name: _field(field) for field in (*of.fields, *of.tagged)}
    if of.cls.__name__ in {cls.__name__ for cls in control_types().values()}:
        fields["version"] = st.just(of.version)
    return st.builds(of.cls, **fields)


def _field(field: Field) -> st.SearchStrategy[Any]:
    values = _values(field.type)
    if field.tag is not None:
        values |= st.just(field.default)
    return values | st.none() if field.nullable else values


@functools.cache
def _values(field_type: FieldType) -> st.SearchStrategy[Any]:
    match field_type:
        case Layout():
            return records(field_type)
        case ArrayOf(item):
            return st.lists(_values(item), max_size=4).map(tuple)
        case "string":
            return _TEXT | _LONG_TEXT
        case "bytes":
            return st.binary(max_size=200)
        case "uuid":
            return st.binary(min_size=16, max_size=16)
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats(allow_nan=False)
    low, high = _INTEGERS[field_type]
    return st.integers(low, high) | st.integers(max(low, -2), 5)
