"""The schema of a segment: the envelope with every record type in its payload union."""

import functools
import json
from collections.abc import Callable, Collection
from typing import Any

from records import registry

UUID_NAME = "metalog.Uuid"
UUID_FIXED = {"type": "fixed", "name": UUID_NAME, "size": 16}

# Documentation and Kafka's layout are for people and for our codecs; in a segment's header they
# would only take up space.
_NOT_STORED = ("doc", "kafka")


@functools.cache
def envelope_schema() -> dict[str, Any]:
    """Return the schema of new segments as a dict that any Avro library accepts."""
    return stored_schema(documented_schema())


@functools.cache
def envelope_schema_json() -> str:
    """Return `envelope_schema` as JSON text. Equal schemas have equal texts."""
    return json.dumps(envelope_schema(), separators=(",", ":"))


@functools.cache
def documented_schema() -> dict[str, Any]:
    """Return the schema of new segments with `doc` and `kafka` on every field."""
    return _with_payload([registry.schema(cls.__name__) for cls in registry.RECORD_TYPES])


def projected_schema(columns: Collection[str], types: Collection[str]) -> dict[str, Any]:
    """Return a schema that reads part of a segment: some envelope columns, and the fields of some
    record types.

    Args:
        columns: Columns of the envelope besides `payload`, which is always read.
        types: Names of record types; records of other types are read without fields.
    """
    payload = [
        schema if schema["name"] in types else {**schema, "fields": []}
        for schema in (registry.schema(cls.__name__) for cls in registry.RECORD_TYPES)
    ]
    return stored_schema(_with_payload(payload, {"payload", *columns}))


def stored_schema(documented: dict[str, Any]) -> dict[str, Any]:
    """Convert a documented schema, of any release, to the form that segments carry."""
    stored: dict[str, Any] = _stripped(documented)
    return stored


def _with_payload(
    payload: list[dict[str, Any]], columns: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the envelope's schema with `payload` as its payload union, and only `columns` if
    given.
    """
    defined: set[str] = set()
    envelope = registry.schema("Envelope")
    fields = [
        _defining_uuid({**field, "type": payload} if field["name"] == "payload" else field, defined)
        for field in envelope["fields"]
        if columns is None or field["name"] in columns
    ]
    return {**envelope, "fields": fields}


def _defining_uuid(node: Any, defined: set[str]) -> Any:
    """Copy a schema, replacing the first mention of the id type by its definition."""
    if node == UUID_NAME and UUID_NAME not in defined:
        defined.add(UUID_NAME)
        return UUID_FIXED
    return _copied(node, lambda inner: _defining_uuid(inner, defined))


def _stripped(node: Any) -> Any:
    """Copy a schema without the attributes that are not stored in segments."""
    if isinstance(node, dict):
        node = {key: value for key, value in node.items() if key not in _NOT_STORED}
    return _copied(node, _stripped)


def _copied(node: Any, change: Callable[[Any], Any]) -> Any:
    """Copy one level of a schema, applying `change` to the schemas nested in it."""
    if isinstance(node, list):
        return [change(item) for item in node]
    if isinstance(node, dict):
        return {
            key: change(value) if key in ("type", "items", "fields") else value
            for key, value in node.items()
        }
    return node
