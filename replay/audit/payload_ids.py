"""Converts ids in the payload of a log's rows to text of 22 characters, as in other columns."""

from typing import Any

from pyspark.sql.types import StructType

from records import registry
from records.avro.schema import UUID_NAME
from replay.audit.avro_types import UNION_MEMBER_PREFIX
from replay.audit.digest import id_text


def with_ids_as_text(payload: StructType) -> str:
    """Return SQL of the column `payload` with its ids as text; other bytes stay bytes."""
    members = []
    for name in payload.names:
        path = f"payload.{name}"
        schema = registry.schema(name.removeprefix(UNION_MEMBER_PREFIX))
        members.append(f"'{name}', {_text(path, schema, {}) or path}")
    return f"named_struct({', '.join(members)})"


def _text(value: str, schema: Any, named: dict[str, Any], depth: int = 0) -> str | None:
    """Return SQL of a value with its ids as text; None if the value has no ids.

    Args:
        value: SQL of the value.
        schema: Its Avro schema.
        named: The records defined so far in the schema, by full name; records in `schema` are
            added.
        depth: How many lists the value is in.
    """
    match schema:
        case str():
            if schema in named:
                return _text(value, named[schema], named, depth)
            return id_text(value) if schema == UUID_NAME else None
        case ["null", type_]:
            return _text(value, type_, named, depth)
        case {"type": "array", "items": items}:
            each = _text(f"each_{depth}", items, named, depth + 1)
            return each and f"transform({value}, each_{depth} -> {each})"
        case {"type": "record", "name": name, "fields": fields}:
            named[f"{schema.get('namespace', '')}.{name}"] = schema
            paths = {field["name"]: f"{value}.{field['name']}" for field in fields}
            texts = {f["name"]: _text(paths[f["name"]], f["type"], named, depth) for f in fields}
            if not any(texts.values()):
                return None
            pairs = (f"'{name}', {text or paths[name]}" for name, text in texts.items())
            return f"if({value} IS null, null, named_struct({', '.join(pairs)}))"
    raise AssertionError(f"no record type uses {schema}")
