"""The schemas and the record classes have the same fields."""

import re
import typing
from collections.abc import Iterator
from importlib import resources
from typing import Any

import fastavro
import msgspec
import pytest

from records import registry
from records.avro.schema import documented_schema, envelope_schema, envelope_schema_json
from records.base import Record
from records.envelope import Envelope

ALL: list[type[Record]] = [*registry.RECORD_TYPES, Envelope]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and every record schema nested in it."""
    if isinstance(schema, list):
        for item in schema:
            yield from nodes(item)
    elif isinstance(schema, dict):
        if schema["type"] == "record":
            yield schema
        for key in ("type", "items"):
            if isinstance(schema.get(key), dict | list):
                yield from nodes(schema[key])
        for field in schema.get("fields", []):
            yield from nodes(field["type"])


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_class_has_the_fields_of_its_schema_in_order(cls: type[Record]) -> None:
    fields = registry.schema(cls.__name__)["fields"]
    assert cls.__struct_fields__ == tuple(field["name"] for field in fields)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_class_has_the_defaults_of_its_schema(cls: type[Record]) -> None:
    defaults = {field.name: field for field in msgspec.structs.fields(cls)}
    for field in registry.schema(cls.__name__)["fields"]:
        found = defaults[field["name"]]
        assert found.required == ("default" not in field), field["name"]
        if "default" in field:
            wanted = () if field["default"] == [] else field["default"]
            if isinstance(wanted, str) and isinstance(found.default, bytes):
                wanted = wanted.encode("latin-1")  # as Avro writes the default of a fixed
            assert found.default == wanted


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_every_field_and_record_is_documented(cls: type[Record]) -> None:
    for node in nodes(registry.schema(cls.__name__)):
        assert node["doc"]
        for field in node["fields"]:
            assert field["doc"], (node["name"], field["name"])


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_every_record_has_a_field(cls: type[Record]) -> None:
    # Spark cannot write a structure without fields to Parquet.
    assert cls.__struct_fields__


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_records_are_immutable_and_hold_only_immutable_values(cls: type[Record]) -> None:
    assert cls.__struct_config__.frozen
    assert not cls.__struct_config__.gc
    for hint in typing.get_type_hints(cls).values():
        assert not re.search(r"\b(list|dict|set)\b", str(hint)), hint


def test_every_schema_file_is_registered() -> None:
    files = {p.name for p in resources.files("records").joinpath("schemas").iterdir()}
    assert files == {f"{cls.__name__}.avsc" for cls in ALL}


def test_nested_types_take_their_record_as_namespace() -> None:
    for cls in ALL:
        for node in nodes(registry.schema(cls.__name__)):
            if node["name"] != cls.__name__ and "namespace" in node:
                assert node["namespace"] == cls.__name__


def test_stored_schema_is_the_documented_one_without_doc_and_kafka() -> None:
    assert "doc" not in envelope_schema_json()
    assert "kafka" not in re.sub(r"kraft|Kafka|KRaft", "", envelope_schema_json())
    assert [n["name"] for n in nodes(envelope_schema())] == [
        n["name"] for n in nodes(documented_schema())
    ]


def test_fastavro_accepts_the_schema() -> None:
    fastavro.parse_schema(documented_schema())
    fastavro.parse_schema(envelope_schema())


def test_no_two_record_types_share_a_kafka_key() -> None:
    keys = [
        (registry.schema(cls.__name__)["kafka"].get("api_key"), cls in registry.CONTROL_TYPES)
        for cls in registry.RECORD_TYPES
        if "api_key" in registry.schema(cls.__name__).get("kafka", {})
    ]
    assert len(keys) == len(set(keys))
