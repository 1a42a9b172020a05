"""Hypothesis strategies for records of every type, by their schemas."""

import functools
import typing
from types import UnionType
from typing import Any

from hypothesis import strategies as st

from records import registry
from records.avro.schema import UUID_NAME
from records.base import Record
from records.envelope import Asked, Envelope, Extra, Kept, Origin

_USUAL = st.integers(-3, 300)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(1 << 31), (1 << 31) - 1) | _USUAL,
    "long": st.integers(-(1 << 63), (1 << 63) - 1) | _USUAL,
    "boolean": st.booleans(),
    "double": st.floats(allow_nan=False),
    # Lengths of one byte and of two.
    "string": _TEXT | st.just("\u00df" * 100),
    "bytes": st.binary(max_size=40) | st.just(bytes(200)),
    UUID_NAME: st.binary(min_size=16, max_size=16),
}


def values(schema: Any, hint: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for a field, from its schema and Python type; `named` has the nested
    types.
    """
    match schema:
        case [*_]:
            (other,) = [branch for branch in schema if branch != "null"]
            return st.none() | values(other, _inner(hint), named)
        case {"type": "array", "items": items}:
            item = values(items, typing.get_args(hint)[0], named)
            return st.lists(item, max_size=5).map(tuple)
        case {"type": "record"}:
            named[f"{schema['namespace']}.{schema['name']}"] = schema
            return _structs(schema, hint, named)
        case str() if schema in named:
            return _structs(named[schema], hint, named)
    return _SIMPLE[schema]


def _inner(hint: Any) -> Any:
    assert typing.get_origin(hint) in (UnionType, typing.Union), hint
    (inner,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    return inner


def _structs(schema: Any, cls: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    fields = {
        field["name"]: values(field["type"], hints[field["name"]], named)
        for field in schema["fields"]
    }
    if "placeholder" in fields:
        fields["placeholder"] = st.just(0)
    return st.builds(cls, **fields)


@functools.cache
def records(cls: type[Record]) -> st.SearchStrategy[Any]:
    """Return a strategy for records of one type."""
    return _structs(registry.schema(cls.__name__), cls, {})


@functools.cache
def parts(name: str, cls: type[Record]) -> st.SearchStrategy[Any]:
    """Return a strategy for one nullable structure of the envelope."""
    (schema,) = [
        field["type"][1] for field in registry.schema("Envelope")["fields"] if field["name"] == name
    ]
    return _structs(schema, cls, {})


ANY_RECORD: st.SearchStrategy[Record] = st.sampled_from(registry.RECORD_TYPES).flatmap(records)


@st.composite
def batches(draw: st.DrawFn) -> list[Envelope]:
    """The rows of one batch."""
    base = draw(st.integers(0, 1 << 40) | st.just((1 << 63) - 10))
    epoch = draw(st.integers(0, (1 << 31) - 1))
    timestamp = draw(st.integers(0, 1 << 42) | st.integers(-(1 << 63), (1 << 63) - 1))
    origin = draw(st.none() | parts("origin", Origin))
    count = draw(st.integers(1, 6))
    return [
        Envelope(
            offset=base + index,
            leader_epoch=epoch,
            timestamp=timestamp,
            batch_offset=base,
            record_version=draw(st.integers(0, 4)),
            origin=origin if draw(st.integers(0, 5)) else None,
            durable_end=draw(st.none() | st.integers(0, base)) if index == 0 else None,
            previous_crc32c=draw(st.none() | st.integers(0, (1 << 32) - 1)) if index == 0 else None,
            extra=draw(st.none() | parts("extra", Extra)) if draw(st.integers(0, 3)) == 0 else None,
            asked=draw(st.none() | parts("asked", Asked)) if index == 0 else None,
            kept=draw(st.none() | parts("kept", Kept)) if draw(st.integers(0, 3)) == 0 else None,
            payload=draw(ANY_RECORD),
        )
        for index in range(count)
    ]
