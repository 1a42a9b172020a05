"""Records with extreme values of their schemas: three of each type."""

from typing import Any

from records import registry
from records.avro.schema import UUID_NAME
from records.base import Record
from records.json import from_json
from records.text import bytes_text, uuid_text

_LEAST: dict[str, Any] = {
    "int": -(1 << 31),
    "long": -(1 << 63),
    "boolean": False,
    "double": -1.7976931348623157e308,
    "string": "",
    "bytes": "",
    UUID_NAME: uuid_text(bytes(16)),
}
_MOST: dict[str, Any] = {
    "int": (1 << 31) - 1,
    "long": (1 << 63) - 1,
    "boolean": True,
    "double": 5e-324,
    "string": "\x00 Ωmega, naïve, 日本語, \U0001f680 " * 12,
    "bytes": bytes_text(bytes(range(256))),
    UUID_NAME: uuid_text(b"\xff" * 16),
}
_ARRAY_OF_MOST = 3


def edge_records(cls: type[Record]) -> list[Record]:
    """Return a record with default values, one with the least values and one with the greatest.

    A field without a default has the least value in the first record. Nullable fields are null in
    the record of least values.
    """
    schema = registry.schema(cls.__name__)
    named: dict[str, Any] = {}
    least = _record(schema, _LEAST, named)
    required = [field["name"] for field in schema["fields"] if "default" not in field]
    return [
        from_json(cls.__name__, fields)
        for fields in (
            {name: least[name] for name in required},
            least,
            _record(schema, _MOST, named),
        )
    ]


def _record(
    schema: dict[str, Any], simple: dict[str, Any], named: dict[str, Any]
) -> dict[str, Any]:
    return {
        field["name"]: _value(field["type"], simple, named)
        for field in schema["fields"]
        # It means nothing, and is not printed.
        if field["name"] != "placeholder"
    }


def _value(schema: Any, simple: dict[str, Any], named: dict[str, Any]) -> Any:
    match schema:
        case [*_]:
            (other,) = [branch for branch in schema if branch != "null"]
            return None if simple is _LEAST else _value(other, simple, named)
        case {"type": "array", "items": items}:
            one = _value(items, simple, named)
            return [] if simple is _LEAST else [one] * _ARRAY_OF_MOST
        case {"type": "record"}:
            named[f"{schema['namespace']}.{schema['name']}"] = schema
            return _record(schema, simple, named)
        case str() if schema in named:
            return _record(named[schema], simple, named)
    return simple[schema]
