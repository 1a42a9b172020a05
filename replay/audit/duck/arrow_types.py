"""Arrow types of Avro schemas, and conversion of the folds' JSON values to these types.

Ids are text of 22 characters, as in all views; other bytes stay bytes.
"""

import base64
from collections.abc import Mapping
from typing import Any

import pyarrow

from records.avro.schema import UUID_NAME
from replay.audit.fold.texts import id_text

_PRIMITIVES = {
    "boolean": pyarrow.bool_(),
    "bytes": pyarrow.binary(),
    "double": pyarrow.float64(),
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "string": pyarrow.string(),
}

Named = dict[str, Any]
"""The records that are defined earlier in a schema, by full name."""


def arrow_type(schema: Any, named: Named) -> pyarrow.DataType:
    """Return the Arrow type of an Avro schema without unions other than with null."""
    match schema:
        case str():
            if schema == UUID_NAME:
                return pyarrow.string()
            return _PRIMITIVES.get(schema) or arrow_type(named[schema], named)
        case ["null", type_]:
            return arrow_type(type_, named)
        case {"type": "fixed"}:
            return pyarrow.string()
        case {"type": "array", "items": items}:
            return pyarrow.list_(arrow_type(items, named))
        case {"type": "record", "fields": fields}:
            named[_full_name(schema)] = schema
            return pyarrow.struct([(f["name"], arrow_type(f["type"], named)) for f in fields])
    raise AssertionError(f"no record type uses {schema}")


def arrow_value(value: Any, schema: Any, named: Named) -> Any:
    """Convert a JSON value of `replay.audit.fold` to a value of `schema`'s Arrow type."""
    if value is None:
        return None
    match schema:
        case str():
            if schema == UUID_NAME:
                return id_text(value)
            if schema == "bytes":
                return base64.b64decode(value)
            return arrow_value(value, named[schema], named) if schema in named else value
        case ["null", type_]:
            return arrow_value(value, type_, named)
        case {"type": "fixed"}:
            return id_text(value)
        case {"type": "array", "items": items}:
            return [arrow_value(each, items, named) for each in value]
        case {"type": "record", "fields": fields}:
            return {f["name"]: arrow_value(value.get(f["name"]), f["type"], named) for f in fields}
    raise AssertionError(f"no record type uses {schema}")


def _full_name(schema: Mapping[str, Any]) -> str:
    space = schema.get("namespace")
    return f"{space}.{schema['name']}" if space else str(schema["name"])
