"""Detection of fields of a newer release, whose values Avro's schema resolution would drop."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec


class UnknownField(msgspec.Struct, frozen=True):
    """A field that only the writer's schema has, not this release's.

    `type_name` is the full name of the record type with this field.
    """

    type_name: str
    name: str

    @property
    def text(self) -> str:
        """The field as text for messages: `name of type_name`."""
        return f"{self.name} of {self.type_name}"


def unknown_fields(writer: Any, reader: Any) -> dict[UnknownField, object]:
    """Return the fields that only the writer's schema has, with their defaults.

    Fields of record types that the reader's schema lacks are left out.
    """
    known = {_name(each): {field["name"] for field in each["fields"]} for each in _records(reader)}
    return {
        UnknownField(_name(each), field["name"]): _default(field)
        for each in _records(writer)
        if _name(each) in known
        for field in each["fields"]
        if field["name"] not in known[_name(each)]
    }


def fields_in_use(
    value: Any, schema: Any, unknown: Mapping[UnknownField, object]
) -> Iterator[UnknownField]:
    """Yield the unknown fields that have another value than their default.

    Args:
        value: A value that fastavro read with the writer's schema: a dict, or (name, dict) in a
            union of several records.
        schema: The writer's schema.
    """
    if isinstance(schema, list):
        name, value = value if isinstance(value, tuple) else (None, value)
        branches = [each for each in schema if _may_hold(each, value, name)]
        schema = branches[0] if branches else None
    match schema:
        case {"type": "record", "fields": fields} if isinstance(value, dict):
            for field in fields:
                found, inner = UnknownField(_name(schema), field["name"]), value[field["name"]]
                if found in unknown and inner != unknown[found]:
                    yield found
                yield from fields_in_use(inner, field["type"], unknown)
        case {"type": "array", "items": items} if isinstance(value, list):
            for item in value:
                yield from fields_in_use(item, items, unknown)


def _may_hold(branch: Any, value: object, name: str | None) -> bool:
    """True if a union branch can hold `value`; `name` is the value's record type, if known."""
    match branch:
        case {"type": "record"}:
            return isinstance(value, dict) and name in (None, _name(branch))
        case {"type": "array"}:
            return isinstance(value, list)
    return False


def _records(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the record types of a schema, outer ones first."""
    match node:
        case list():
            for branch in node:
                yield from _records(branch)
        case {"type": "record", "fields": fields}:
            yield node
            for field in fields:
                yield from _records(field["type"])
        case {"type": "array", "items": items}:
            yield from _records(items)


def _name(record: Mapping[str, Any]) -> str:
    """Return the full name of a record type; our schemas give each nested type its namespace."""
    namespace = record.get("namespace")
    return f"{namespace}.{record['name']}" if namespace else record["name"]


def _default(field: Mapping[str, Any]) -> object:
    """Return a field's default as fastavro reads it; without one, an object equal to no value."""
    if "default" not in field:
        return object()
    default = field["default"]
    is_bytes = isinstance(default, str) and field["type"] != "string"
    return default.encode("latin-1") if is_bytes else default
