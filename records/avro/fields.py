"""The fields of a record type and their types, read from its Avro schema and its class.

Both codecs are made from this: the one in Python (`generated`) and the compiled one (`compiled`).
"""

import sys
import typing
from types import UnionType
from typing import Any

import msgspec

from records.avro.schema import UUID_NAME
from records.base import Record

_SIMPLE = ("int", "long", "boolean", "double", "bytes", "string")


class Type(msgspec.Struct, frozen=True):
    """The type of a value.

    Attributes:
        kind: One of Avro's simple types, `uuid`, `ints` (an array of int), `array` or `record`.
        null_branch: The branch of null in a union of null and this type; None if the value cannot
            be null. The other branch is 1 - `null_branch`.
        items: The type of an `array`'s items.
        fields: The fields of a `record`.
    """

    kind: str
    null_branch: int | None = None
    items: "Type | None" = None
    fields: "Fields | None" = None


class Fields(msgspec.Struct, frozen=True):
    """The fields of a class of records, in the order of its schema."""

    cls: type[Record]
    names: tuple[str, ...]
    types: tuple[Type, ...]


def fields_of(schema: dict[str, Any], cls: type[Record]) -> Fields:
    """Return the fields of a record type or of a structure nested in one."""
    return _fields(schema, cls, {})


# A schema defines a nested type once and refers to it by name afterwards: `named` keeps them.
def _fields(schema: dict[str, Any], cls: type[Record], named: dict[str, Any]) -> Fields:
    hints = typing.get_type_hints(cls)
    fields = schema["fields"]
    return Fields(
        cls,
        # Keywords are compared by identity first.
        tuple([sys.intern(field["name"]) for field in fields]),
        tuple([_type(field["type"], hints[field["name"]], named) for field in fields]),
    )


def _type(schema: Any, hint: Any, named: dict[str, Any]) -> Type:
    if isinstance(schema, list):
        null, other, hint = _nullable(schema, hint)
        return msgspec.structs.replace(_type(other, hint, named), null_branch=null)
    match named.get(schema, schema) if isinstance(schema, str) else schema:
        case str() as simple if simple in _SIMPLE:
            return Type(simple)
        case str() as name if name == UUID_NAME:
            return Type("uuid")
        case {"type": "array", "items": "int"}:
            return Type("ints")
        case {"type": "array", "items": items}:
            return Type("array", items=_type(items, typing.get_args(hint)[0], named))
        case {"type": "record"} as record:
            named[f"{record['namespace']}.{record['name']}"] = record
            return Type("record", fields=_fields(record, hint, named))
    raise AssertionError(f"no codec for {schema}")


def _nullable(schema: list[Any], hint: Any) -> tuple[int, Any, Any]:
    """Return the branch of null in a union; the schema and the Python type of the other type."""
    assert len(schema) == 2 and "null" in schema, schema
    null = schema.index("null")
    assert typing.get_origin(hint) in (UnionType, typing.Union), hint
    (inner,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    return null, schema[1 - null], inner
