"""The schema of a segment: the envelope with every record type in its payload union."""

import functools
import json
from typing import Any

from records import registry

UUID_NAME = "metalog.Uuid"
UUID_FIXED = {"type": "fixed", "name": UUID_NAME, "size": 16}

# Documentation and Kafka's layout are for people and for our own codecs; in every segment's
# header they would only take room.
_NOT_STORED = ("doc", "kafka")


@functools.cache
def envelope_schema() -> dict[str, Any]:
    """Return the schema that new segments are written with, ready for any Avro library."""
    return _compose(strip=True)


@functools.cache
def documented_schema() -> dict[str, Any]:
    """Return the same schema with `doc` and `kafka` on every field, for readers of the code."""
    return _compose(strip=False)


@functools.cache
def envelope_schema_json() -> str:
    """Return the text of `envelope_schema`; equal text means an equal schema."""
    return json.dumps(envelope_schema(), separators=(",", ":"))


def _compose(*, strip: bool) -> dict[str, Any]:
    defined: set[str] = set()
    envelope = registry.schema("Envelope")
    fields = []
    for field in envelope["fields"]:
        if field["name"] == "payload":
            payload = [registry.schema(cls.__name__) for cls in registry.RECORD_TYPES]
            field = {**field, "type": payload}
        fields.append(_inline(field, defined, strip))
    composed: dict[str, Any] = _inline({**envelope, "fields": fields}, defined, strip)
    return composed


def _inline(node: Any, defined: set[str], strip: bool) -> Any:
    """Copy a schema; the first mention of the id type becomes its definition."""
    if node == UUID_NAME and UUID_NAME not in defined:
        defined.add(UUID_NAME)
        return UUID_FIXED
    if isinstance(node, list):
        return [_inline(item, defined, strip) for item in node]
    if isinstance(node, dict):
        return {
            key: _inline(value, defined, strip) if key in ("type", "items", "fields") else value
            for key, value in node.items()
            if not (strip and key in _NOT_STORED)
        }
    return node
