"""The current schema can read the logs of all releases, and the check for that finds each
mistake.
"""

import copy
import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
import pytest

from records.avro.schema import documented_schema, envelope_schema_json, stored_schema
from tests.golden import MANIFEST, schema_path
from tests.golden.compatibility import violations

RELEASES: dict[str, str] = json.loads(MANIFEST.read_text())
Schema = dict[str, Any]
Change = Callable[[Schema], object]


def released_schema(release: str) -> Schema:
    """The schema of a release, with its documentation."""
    schema: Schema = json.loads(schema_path(RELEASES[release]).read_text())
    return schema


def fastavro_reads(released: Schema, current: Schema) -> bool:
    """True if fastavro can resolve every record type of a released schema with the current one."""
    written, read = stored_schema(released), stored_schema(current)
    for branch in _payload(released):
        row = {**_empty(released, {}), "payload": (branch["name"], _empty(branch, {}))}
        out = io.BytesIO()
        fastavro.schemaless_writer(out, written, row)
        try:
            fastavro.schemaless_reader(io.BytesIO(out.getvalue()), written, read)
        except Exception:
            return False
    return True


def _empty(schema: Any, named: dict[str, Any]) -> Any:
    """Return the smallest value of a schema, for fastavro."""
    match schema:
        case [*_]:
            return None
        case {"type": "record"}:
            named[f"{schema.get('namespace')}.{schema['name']}"] = schema
            return {
                field["name"]: _empty(field["type"], named)
                for field in schema["fields"]
                if field["name"] != "payload"
            }
        case {"type": "array"}:
            return [_empty(schema["items"], named)]
        case str() if schema in named:
            return _empty(named[schema], named)
    simple = {"int": 0, "long": 0, "boolean": False, "double": 0.0, "string": "", "bytes": b""}
    return simple.get(schema if isinstance(schema, str) else "", bytes(16))


def _payload(schema: Schema) -> list[Schema]:
    (payload,) = [field["type"] for field in schema["fields"] if field["name"] == "payload"]
    found: list[Schema] = payload
    return found


def _record(schema: Schema, name: str) -> Schema:
    (record,) = [record for record in _payload(schema) if record["name"] == name]
    return record


def _field(schema: Schema, record: str, name: str) -> Schema:
    (field,) = [field for field in _record(schema, record)["fields"] if field["name"] == name]
    found: Schema = field
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_todays_schema_reads_what_the_release_wrote(release: str) -> None:
    assert violations(released_schema(release), documented_schema()) == []
    assert fastavro_reads(released_schema(release), documented_schema())


@pytest.mark.parametrize("release", RELEASES)
def test_schema_that_is_kept_is_the_one_segments_carry(release: str) -> None:
    text = json.dumps(stored_schema(released_schema(release)), separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == RELEASES[release]


def test_the_stored_form_of_todays_schema_is_what_segments_carry() -> None:
    assert (
        json.dumps(stored_schema(documented_schema()), separators=(",", ":"))
        == envelope_schema_json()
    )


def _add_field(schema: Schema, **field: object) -> None:
    _record(schema, "NoteRecord")["fields"].append({"name": "mood", "type": "int", **field})


_ALLOWED: dict[str, Change] = {
    "nothing": lambda schema: None,
    "a field with a default": lambda schema: _add_field(schema, default=0, doc="New."),
    "a record type at the end": lambda schema: _payload(schema).append(
        {"type": "record", "name": "NewRecord", "fields": [{"name": "n", "type": "int"}]}
    ),
    "another text of a doc": lambda schema: _record(schema, "NoteRecord").update(doc="Better."),
    "a newer version of Kafka's layout": lambda schema: _record(schema, "TopicRecord")[
        "kafka"
    ].update(versions="0-1"),
}

# The change, the rule that forbids it, and whether Avro itself would read it all the same.
_FORBIDDEN: dict[str, tuple[Change, str, bool]] = {
    "a field without a default": (
        lambda s: _add_field(s),
        "/Envelope.payload/NoteRecord.mood: is new and has no default",
        False,
    ),
    "a field removed": (
        lambda s: _record(s, "NoteRecord")["fields"].pop(),
        "/NoteRecord.text: was removed",
        True,
    ),
    "a field renamed": (
        lambda s: _field(s, "NoteRecord", "text").update(name="words"),
        "/NoteRecord.text: was removed",
        False,
    ),
    "a field retyped": (
        lambda s: _field(s, "NoteRecord", "text").update(type="long"),
        "/NoteRecord.text: type string became long",
        False,
    ),
    "a field widened": (
        lambda s: _field(s, "PartitionRecord", "leader").update(type="long"),
        "/PartitionRecord.leader: type int became long",
        True,
    ),
    "a field that may be null now": (
        lambda s: _field(s, "NoteRecord", "text").update(type=["null", "string"]),
        "/NoteRecord.text: type string became union",
        True,
    ),
    "an item of an array retyped": (
        lambda s: _field(s, "PartitionRecord", "isr")["type"].update(items="string"),
        "/PartitionRecord.isr[]: type int became string",
        False,
    ),
    "a nested field removed": (
        lambda s: _field(s, "LeaderChangeMessage", "voters")["type"]["items"]["fields"].pop(),
        "voters[]/Voter.voter_directory_id: was removed",
        True,
    ),
    "a nested type renamed": (
        lambda s: _field(s, "ClientQuotaRecord", "entity")["type"]["items"].update(name="Who"),
        "ClientQuotaRecord.entity[]: ClientQuotaRecord.EntityData was renamed",
        False,
    ),
    "fields that changed places": (
        lambda s: _record(s, "NoteRecord")["fields"].reverse(),
        "/NoteRecord: fields changed places",
        True,
    ),
    "another default": (
        lambda s: _field(s, "PartitionChangeRecord", "leader").update(default=-1),
        "/PartitionChangeRecord.leader: default -2 became -1",
        True,
    ),
    "a record type removed": (
        lambda s: _payload(s).pop(),
        "/Envelope.payload: a member of the union was removed",
        False,
    ),
    "a record type in the middle": (
        lambda s: _payload(s).insert(
            3, {"type": "record", "name": "NewRecord", "fields": [{"name": "n", "type": "int"}]}
        ),
        "member 3 of the union was PartitionRecord and is NewRecord",
        True,
    ),
    "a fixed of another size": (
        lambda s: _field(s, "RegisterBrokerRecord", "incarnation_id")["type"].update(size=8),
        "metalog.Uuid has 8 bytes instead of 16",
        False,
    ),
    "null at another place in a union": (
        lambda s: _field(s, "TopicRecord", "namespace_id")["type"].reverse(),
        "/TopicRecord.namespace_id: member 0 of the union was null and is metalog.Uuid",
        True,
    ),
    "another key of Kafka's": (
        lambda s: _record(s, "TopicRecord")["kafka"].update(api_key=99),
        "/TopicRecord: Kafka's api_key 2 became 99",
        True,
    ),
    "another tag of Kafka's": (
        lambda s: _field(s, "PartitionChangeRecord", "isr")["kafka"].update(tag=9),
        "/PartitionChangeRecord.isr: Kafka's tag 0 became 9",
        True,
    ),
    "fewer of Kafka's versions": (
        lambda s: _record(s, "PartitionRecord")["kafka"].update(versions="0-1"),
        "Kafka's versions 0-2 became 0-1",
        True,
    ),
    "Kafka's layout removed": (
        lambda s: _field(s, "TopicRecord", "name").pop("kafka"),
        "/TopicRecord.name: Kafka's layout was added or removed",
        True,
    ),
}


@pytest.mark.parametrize("name", _ALLOWED)
def test_change_that_is_allowed_is_read_by_fastavro_too(name: str) -> None:
    changed = copy.deepcopy(documented_schema())
    _ALLOWED[name](changed)
    assert violations(documented_schema(), changed) == []
    assert fastavro_reads(documented_schema(), changed)


@pytest.mark.parametrize("name", _FORBIDDEN)
def test_change_that_is_forbidden_is_named_with_its_rule(name: str) -> None:
    change, rule, avro_reads = _FORBIDDEN[name]
    changed = copy.deepcopy(documented_schema())
    change(changed)
    found = violations(documented_schema(), changed)
    assert any(rule in text for text in found), found
    assert fastavro_reads(documented_schema(), changed) == avro_reads


def test_symbols_of_an_enum_are_only_added_at_the_end() -> None:
    def enum(*symbols: str) -> Schema:
        return {"type": "enum", "name": "Mood", "symbols": list(symbols)}

    assert violations(enum("A", "B"), enum("A", "B", "C")) == []
    for symbols in (("B", "A"), ("A",), ("A", "C", "B")):
        (found,) = violations(enum("A", "B"), enum(*symbols))
        assert "symbols of Mood changed" in found
