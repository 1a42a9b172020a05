"""Conversion of records to JSON and back."""

import msgspec
import pytest
from hypothesis import given, settings

from records.base import Record, Uuid
from records.configs import ClientQuotaRecord
from records.control import NoOpRecord
from records.json import from_json, to_json
from records.partitions import PartitionChangeRecord
from records.text import parse_uuid, uuid_text
from records.topics import TopicRecord
from tests.records.strategies import ANY_RECORD

TOPIC_ID = Uuid(bytes(range(16)))


@given(ANY_RECORD)
@settings(max_examples=200, deadline=None)
def test_record_is_read_as_printed(record: Record) -> None:
    assert from_json(type(record).__name__, to_json(record)) == record


@pytest.mark.parametrize("text", ["Infinity", "-Infinity", "NaN"])
def test_number_that_is_not_finite_is_a_string(text: str) -> None:
    record = ClientQuotaRecord(entity=(), key="request_percentage", value=float(text), remove=False)
    printed = msgspec.json.decode(msgspec.json.encode(to_json(record)))
    assert printed["value"] == text
    found = from_json("ClientQuotaRecord", printed)
    assert isinstance(found, ClientQuotaRecord)
    assert repr(found.value) == repr(record.value)


def test_ids_are_22_characters_and_fields_that_mean_nothing_are_left_out() -> None:
    record = TopicRecord(name="orders", topic_id=TOPIC_ID)
    assert to_json(record) == {
        "name": "orders",
        "topic_id": "AAECAwQFBgcICQoLDA0ODw",
        "namespace_id": None,
    }
    assert to_json(NoOpRecord()) == {}


def test_fields_left_out_take_the_default() -> None:
    given_fields = {"topic_id": uuid_text(TOPIC_ID), "partition_id": 3}
    record = from_json("PartitionChangeRecord", given_fields)
    assert record == PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=3)


@pytest.mark.parametrize(
    ("type_name", "fields", "message"),
    [
        ("NoSuchRecord", {}, "is not a record type"),
        ("TopicRecord", {"nam": "x"}, "has no field 'nam'"),
        ("TopicRecord", {"name": "x"}, "topic_id"),
        ("TopicRecord", {"name": 3, "topic_id": "A" * 22}, "TopicRecord.name"),
        ("TopicRecord", {"name": "x", "topic_id": "short"}, "TopicRecord.topic_id"),
        ("RemovePartitionsRecord", {"topic_id": "A" * 22, "partition_ids": 3}, "partition_ids"),
    ],
)
def test_wrong_input_names_the_field(type_name: str, fields: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(type_name, fields)  # type: ignore[arg-type]


def test_uuid_text_is_read_back_and_nothing_else_is() -> None:
    assert parse_uuid(uuid_text(TOPIC_ID)) == TOPIC_ID
    for text in ("", "A" * 21, "A" * 23, "AAECAwQFBgcICQoLDA0OD" + "é", "AAECAwQFBgcICQoLDA0ODx"):
        with pytest.raises(ValueError, match="22 base64url"):
            parse_uuid(text)
