"""Settings: the object fields that a record sets, with their values as text.

docs/replay.md describes the effect of each record. The state is computed from the same records
separately (objects.py, partitions.py), because that needs neither texts nor earlier values.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from records import registry
from records.avro.schema import UUID_NAME
from replay.audit.fold.objects import WORDS
from replay.audit.fold.texts import ROWS, base64_text, id_text
from replay.audit.fold.topic_names import Fields

RESOURCE_TYPES = {
    2: "topic",
    4: "broker",
    8: "broker-logger",
    16: "client-metrics",
    32: "group",
    100: "namespace",
}

Texts = dict[str, str | None]
"""Values by field; None unsets the field."""


class Setting(NamedTuple):
    """The fields that a record sets in one object.

    Attributes:
        kind: The part of the state.
        fields: New value by field, as text; None removes the field.
        topic: Id, in base64, of the topic that the object belongs to; None if there is none.
        head: The part of the object's key before the topic.
        rest: The part of the object's key after the topic.
    """

    kind: str
    fields: Texts
    topic: str | None = None
    head: str = ""
    rest: str = ""


def settings(name: str, record: Fields) -> Iterator[Setting]:
    """Yield the settings in a record.

    Settings of topic configs, voters and partitions are left out, and so are the removals of
    objects that belong to a removed topic.
    """
    if name in _SETTINGS:
        yield from _SETTINGS[name](record)
    elif name in WORDS:
        yield _word(name, record)


def config(record: Fields, topic: str | None = None) -> Setting:
    """Return the setting in a ConfigRecord.

    Args:
        topic: Id of the topic whose config it is; None for another resource or an unknown topic.
    """
    code = record["resource_type"]
    return Setting(
        "configs",
        {record["name"]: record.get("value")},
        topic,
        head=f"{RESOURCE_TYPES.get(code, code)}/",
        rest=record["resource_name"] if topic is None else "",
    )


def voter(voter_id: int, record: Fields | None) -> Setting:
    """Return the setting of one voter by a VotersRecord.

    Args:
        record: The voter's entry in the record; None if the record does not list the voter.
    """
    fields = dict.fromkeys(name for name in ROWS["voters"] if name != "voter_id")
    if record is None:
        return Setting("voters", fields, rest=str(voter_id))
    texts: Texts = {name: _json(record[name]) for name in fields if name in record}
    texts["voter_directory_id"] = id_text(record["voter_directory_id"])
    return Setting("voters", fields | texts, rest=str(voter_id))


def _word(name: str, record: Fields) -> Setting:
    word = WORDS[name]
    if word.part == "topics":
        texts = {field: _text(name, field, record) for field in ("name", "namespace_id")}
        return Setting("topics", texts, record["topic_id"])
    # A note is nothing but a key.
    fields = [field for field in ROWS[word.part] if field not in word.key] or ["text"]
    texts = dict.fromkeys(fields)
    if word.is_kept(record):
        texts = {field: _text(name, field, record) for field in fields}
    keys = (_key(name, field, record) for field in word.key)
    return Setting(word.part, texts, rest="/".join(key for key in keys if key is not None))


def _key(name: str, field: str, record: Fields) -> str | None:
    if field != "entity":
        return _text(name, field, record)
    pairs = {(each["entity_type"], each.get("entity_name")) for each in record["entity"]}
    return _json(sorted(pairs, key=lambda pair: (pair[0], pair[1] or "")))


def _registration(record: Fields) -> Iterator[Setting]:
    yield _broker(
        record["broker_id"],
        {field: _text("RegisterBrokerRecord", field, record) for field in _BROKER_FIELDS},
    )


def _unregistration(record: Fields) -> Iterator[Setting]:
    yield _broker(record["broker_id"], dict.fromkeys(_BROKER_FIELDS))


def _fence(record: Fields) -> Iterator[Setting]:
    yield _broker(record["id"], {"fenced": "true"})


def _unfence(record: Fields) -> Iterator[Setting]:
    yield _broker(record["id"], {"fenced": "false"})


def _registration_change(record: Fields) -> Iterator[Setting]:
    changed: Texts = {}
    if record["fenced"] in (1, -1):
        changed["fenced"] = "true" if record["fenced"] == 1 else "false"
    if record["in_controlled_shutdown"] == 1:
        changed["in_controlled_shutdown"] = "true"
    for field, is_set in (
        ("log_dirs", bool(record.get("log_dirs"))),
        ("cordoned_log_dirs", "cordoned_log_dirs" in record),
    ):
        if is_set:
            changed[field] = _text("BrokerRegistrationChangeRecord", field, record)
    yield _broker(record["broker_id"], changed)


def _broker(broker_id: int, texts: Texts) -> Setting:
    return Setting("brokers", texts, rest=str(broker_id))


def _removal_begun(record: Fields) -> Iterator[Setting]:
    return _removals(record, {field: str(record[field]) for field in _REMOVAL_FIELDS})


def _removal_over(record: Fields) -> Iterator[Setting]:
    return _removals(record, dict.fromkeys(_REMOVAL_FIELDS))


def _removals(record: Fields, texts: Texts) -> Iterator[Setting]:
    for partition_id in record["partition_ids"]:
        kind, rest = "pending_partition_removals", f"/{partition_id}"
        yield Setting(kind, texts, record["topic_id"], rest=rest)


def _replica_deletion(record: Fields) -> Iterator[Setting]:
    word = _word("ReplicaDeletionRecord", record)
    rest = f"/{record['partition_id']}/{record['broker_id']}"
    yield word._replace(topic=record["topic_id"], rest=rest)


_SETTINGS: dict[str, Callable[[Fields], Iterator[Setting]]] = {
    "BrokerRegistrationChangeRecord": _registration_change,
    "CancelDeleteTopicPartitionsRecord": _removal_over,
    "ConfigRecord": lambda record: iter([config(record)]),
    "DeleteTopicPartitionsRecord": _removal_begun,
    "FenceBrokerRecord": _fence,
    "RegisterBrokerRecord": _registration,
    "RemovePartitionsRecord": _removal_over,
    "ReplicaDeletionRecord": _replica_deletion,
    "UnfenceBrokerRecord": _unfence,
    "UnregisterBrokerRecord": _unregistration,
}

_BROKER_FIELDS = [field for field in ROWS["brokers"] if field != "broker_id"]
_REMOVAL_FIELDS = ("delay_ms", "create_time_ms")


def _text(name: str, field: str, record: Fields) -> str | None:
    """Return a record's field as text; None if the field is null."""
    value = record.get(field)
    return None if value is None else _TEXTS[name][field](value)


def _as_text(type_: Any) -> Callable[[Any], str]:
    """Return the function that converts values of an Avro type to text."""
    if isinstance(type_, list):  # a union of null and the type
        type_ = type_[1]
    if type_ == UUID_NAME:
        return id_text
    if type_ == "bytes":
        return base64_text
    if type_ == "boolean":
        return lambda value: "true" if value else "false"
    if isinstance(type_, str):
        return str
    if type_["items"] == UUID_NAME:
        return lambda values: _json(list(map(id_text, values)))
    return _json


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_TEXTS = {
    cls.__name__: {
        field["name"]: _as_text(field["type"]) for field in registry.schema(cls.__name__)["fields"]
    }
    for cls in registry.RECORD_TYPES
}
