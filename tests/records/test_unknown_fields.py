"""A field that a later release adds is never dropped with a value in it, wherever it is."""

import copy
import io
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from records import registry
from records.avro import reference
from records.avro.schema import envelope_schema
from records.envelope import Asked, Envelope, Extra, Kept, Origin, SecretReference, UnknownTag
from records.errors import RequestError
from records.varint import LONGS
from tests.records.edges import edge_records

ROWS = [
    Envelope(
        offset=number,
        leader_epoch=1,
        timestamp=1,
        batch_offset=0,
        record_version=0,
        origin=Origin(principal="User:ada"),
        extra=Extra(unknown_tags=(UnknownTag(path="a", tag=1, value=b"x"),)),
        asked=Asked(command="c", version=0, secrets=(SecretReference(path="p"),)),
        kept=Kept(version=1),
        payload=record,
    )
    for number, record in enumerate(edge_records(cls)[-1] for cls in registry.RECORD_TYPES)
]


def _types(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the record types of a schema."""
    if isinstance(node, list):
        for inner in node:
            yield from _types(inner)
    elif isinstance(node, dict):
        if node.get("type") == "record":
            yield node
        yield from _types([field["type"] for field in node.get("fields", [])])
        yield from _types(node.get("items"))
        if isinstance(node.get("type"), dict | list):
            yield from _types(node["type"])


def _name(record: dict[str, Any]) -> str:
    return ".".join([*filter(None, [record.get("namespace")]), record["name"]])


NAMES = [_name(each) for each in _types(envelope_schema())]


def _later(name: str, kind: Any, default: Any) -> dict[str, Any]:
    """Return the schema of a later release that adds a field to a record type."""
    schema = copy.deepcopy(envelope_schema())
    (found,) = [each for each in _types(schema) if _name(each) == name]
    found["fields"].append({"name": "later", "type": kind, "default": default})
    return schema


def _encoded(schema: dict[str, Any]) -> bytes:
    """Return rows as a later release writes them, each with its default in the new field."""
    out = io.BytesIO()
    rows = [reference._to_fastavro(row) for row in ROWS]
    fastavro.schemaless_writer(out, {"type": "array", "items": schema}, rows)
    return out.getvalue()[len(LONGS[len(ROWS)]) : -1]


@pytest.mark.parametrize("name", NAMES)
def test_a_value_in_a_later_field_is_refused_and_its_default_is_read(name: str) -> None:
    known = _later(name, "string", "")
    assert reference.decode_rows(_encoded(known), len(ROWS), known) == ROWS
    used = _encoded(_later(name, "string", "a value"))
    with pytest.raises(RequestError, match=f"have later of {name}, known only to newer releases"):
        reference.decode_rows(used, len(ROWS), known)


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        (["null", "string"], None, None),
        ("long", 0, -1),
        ("string", "\xff", "\x00"),
        ({"type": "array", "items": "int"}, [], [1]),
        ("boolean", False, True),
    ],
)
def test_a_default_of_any_type_is_no_value(kind: Any, default: Any, value: Any) -> None:
    known = _later("NamespaceRecord", kind, default)
    assert reference.decode_rows(_encoded(known), len(ROWS), known) == ROWS
    if value is not None:
        used = _encoded(_later("NamespaceRecord", kind, value))
        with pytest.raises(RequestError, match="later of NamespaceRecord"):
            reference.decode_rows(used, len(ROWS), known)


def test_rows_without_a_new_field_are_read_however_many_types_are_new() -> None:
    schema = copy.deepcopy(envelope_schema())
    payload = schema["fields"][-1]["type"]
    payload.append({"type": "record", "name": "Later", "fields": [{"name": "x", "type": "int"}]})
    assert reference.decode_rows(_encoded(schema), len(ROWS), schema) == ROWS


def test_a_default_of_bytes_is_no_value() -> None:
    """Text in ASCII is encoded as bytes are, for which fastavro writes no default."""
    known = _later("NamespaceRecord", "bytes", "a")
    as_text = _encoded(_later("NamespaceRecord", "string", "a"))
    assert reference.decode_rows(as_text, len(ROWS), known) == ROWS
    with pytest.raises(RequestError, match="later of NamespaceRecord"):
        reference.decode_rows(_encoded(_later("NamespaceRecord", "string", "b")), len(ROWS), known)
