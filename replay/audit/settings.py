"""Settings: the object fields that each record sets, with their values as text.

docs/replay.md describes the effect of each record. The state (fold/) is computed from the same
records in another way, because it needs no text of values that do not last.
"""

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from records import registry
from records.avro.schema import UUID_NAME
from replay.audit.digest import base64_text, id_text
from replay.audit.fold.texts import ROWS
from replay.audit.history import History
from replay.audit.parts.partitions import FIELDS as PARTITION_FIELDS
from replay.audit.parts.topics import name_changes, with_holders
from replay.audit.words import TOPIC_RESOURCE, WORDS

COLUMNS = ("timestamp", "origin")
"""Columns of the envelope that the history must have."""

_ROW = "position, aborted_at, timestamp, origin, record"

RESOURCE_TYPES = {
    2: "topic",
    4: "broker",
    8: "broker-logger",
    16: "client-metrics",
    32: "group",
    100: "namespace",
}


def settings(history: History) -> DataFrame:
    """Return one row per field that a record sets; a topic's removal unsets each of its fields.

    Returns:
        position long, aborted_at long (null if the record took effect), timestamp long (ms), origin
        struct, record string (its type), kind string (the part of the state), topic_id binary (the
        topic that the object belongs to, or null), head string and rest string (the parts of the
        object's key before and after the topic), field string, value string (null: unset).
    """
    rare = history.resolved(history.rare_written)
    said = []
    # Of a log's first records none may set anything.
    if objects := _rare_objects(history):
        said.append(_said(history, rare, objects))
    if history.has("ConfigRecord"):
        said.append(_topic_configs(history, rare))
    if history.has("VotersRecord"):
        said.append(_voters(history, rare))
    partitions = history.resolved(history.partitions_written)
    said.append(_said(history, partitions, _partition_objects()))
    set_ = said[0]
    for more in said[1:]:
        set_ = set_.union(more)
    if not history.has("RemoveTopicRecord"):
        return set_
    return set_.union(_gone_with_topics(history, rare, set_))


def _said(history: History, rows: DataFrame, objects: dict[str, str]) -> DataFrame:
    """Return the settings of some records.

    Args:
        rows: The records.
        objects: By record type, the SQL of a list of the objects that a record sets; the field
            `said` of an object lists its fields and values.
    """
    names = " ".join(f"WHEN {name} IS NOT null THEN '{name}'" for name in objects)
    lists = " ".join(f"WHEN {name} IS NOT null THEN {list_}" for name, list_ in objects.items())
    return history.sql(
        f"""
        SELECT {_ROW}, kind, topic_id, head, rest, inline(said)
        FROM (SELECT {_ROW}, inline(objects)
              FROM (SELECT *, CASE {names} END AS record, CASE {lists} END AS objects
                    FROM {{rows}}))
        """,
        rows=rows,
    )


def _object(
    kind: str,
    fields: Mapping[str, str],
    *,
    topic: str = "null",
    head: str = "''",
    rest: str = "''",
    is_whole: bool = True,
) -> str:
    """Return the SQL of an object and of the values that a record gives its fields.

    Args:
        kind: The part of the state.
        fields: The SQL of each field's value, as text.
        topic: The SQL of the id of the topic that the object belongs to.
        head: The SQL of the part of the object's key before the topic.
        rest: The SQL of the part of the object's key after the topic.
        is_whole: True if null removes a field; false if null leaves the field unchanged.
    """
    pairs = (f"struct('{name}' AS field, {value} AS value)" for name, value in fields.items())
    said = f"array({', '.join(pairs)})"
    return (
        f"struct('{kind}' AS kind, CAST({topic} AS binary) AS topic_id, {head} AS head, "
        f"CAST({rest} AS string) AS rest, "
        f"{said if is_whole else f'filter({said}, f -> f.value IS NOT null)'} AS said)"
    )


def _rare_objects(history: History) -> dict[str, str]:
    """Return the SQL of the objects of each rare record type that occurs, by type."""
    config = f"array({_config('null')})"
    objects = {
        **{name: f"array({_word(name)})" for name in WORDS if name != "RemoveTopicRecord"},
        "ConfigRecord": f"if(ConfigRecord.resource_type = {TOPIC_RESOURCE}, null, {config})",
        **{name: f"array({object_})" for name, object_ in _broker_objects().items()},
        **_removal_objects(),
    }
    return {name: list_ for name, list_ in objects.items() if history.has(name)}


def _word(name: str) -> str:
    """Return the SQL of the object that a record sets or removes as a whole.

    Args:
        name: A record type in `WORDS`.
    """
    word = WORDS[name]
    if word.part == "topics":
        place = {field: _text(name, field) for field in ("name", "namespace_id")}
        return _object("topics", place, topic=f"{name}.topic_id")
    keys = {key for part in word.key for key in re.findall(r"\br\.(\w+)", part)}
    # A note is nothing but a key.
    fields = [field for field in ROWS[word.part] if field not in keys] or ["text"]
    key = (re.sub(r"hex\((r\.\w+)\)", lambda id_: id_text(id_[1]), part) for part in word.key)
    rest = _renamed(f"concat_ws('/', {', '.join(key)})", "r", name)
    kept = _renamed(word.kept, "r", name)
    values = _UNSET if word.kept == "false" else f"if({kept}, {{}}, null)"
    texts = {f: values if values == _UNSET else values.format(_text(name, f)) for f in fields}
    return _object(word.part, texts, rest=rest)


def resource_type_text(code: str) -> str:
    """Return SQL that maps a config resource type to its name; an unknown code stays a number."""
    cases = " ".join(f"WHEN {number} THEN '{name}'" for number, name in RESOURCE_TYPES.items())
    return f"CASE {code} {cases} ELSE {code} || '' END"


def _config(topic: str) -> str:
    resource = resource_type_text("ConfigRecord.resource_type")
    rest = f"if({topic} IS null, ConfigRecord.resource_name, '')"
    empty = _object("configs", {}, topic=topic, head=f"concat({resource}, '/')", rest=rest)
    said = "array(struct(ConfigRecord.name AS field, ConfigRecord.value AS value))"
    return empty.replace("array()", said)


def _topic_configs(history: History, rare: DataFrame) -> DataFrame:
    """Return the settings of topic configs; they are assigned to the topic id, not to its name."""
    uses = history.sql(
        f"""
        SELECT ConfigRecord.resource_name AS full_name, position,
               struct(position, aborted_at, timestamp, origin, ConfigRecord) AS use
        FROM {{written}} WHERE ConfigRecord.resource_type = {TOPIC_RESOURCE}
        """,
        written=rare,
    )
    held = with_holders(history, uses, name_changes(history))
    rows = held.selectExpr("use.*", "coalesce(holder, next_holder) AS topic")
    return _said(history, rows, {"ConfigRecord": f"array({_config('topic')})"})


def _broker_objects() -> dict[str, str]:
    registered = "RegisterBrokerRecord"
    fields = [field for field in ROWS["brokers"] if field != "broker_id"]
    log_dirs = _text("BrokerRegistrationChangeRecord", "log_dirs")
    changed = {
        "fenced": """CASE BrokerRegistrationChangeRecord.fenced
                     WHEN 1 THEN 'true' WHEN -1 THEN 'false' END""",
        "in_controlled_shutdown": """
            if(BrokerRegistrationChangeRecord.in_controlled_shutdown = 1, 'true', null)""",
        "log_dirs": f"""
            if(cardinality(BrokerRegistrationChangeRecord.log_dirs) > 0, {log_dirs}, null)""",
        "cordoned_log_dirs": _text("BrokerRegistrationChangeRecord", "cordoned_log_dirs"),
    }
    said: dict[str, tuple[str, dict[str, str]]] = {
        registered: ("broker_id", {field: _text(registered, field) for field in fields}),
        "UnregisterBrokerRecord": ("broker_id", dict.fromkeys(fields, _UNSET)),
        "FenceBrokerRecord": ("id", {"fenced": "'true'"}),
        "UnfenceBrokerRecord": ("id", {"fenced": "'false'"}),
        "BrokerRegistrationChangeRecord": ("broker_id", changed),
    }
    return {
        name: _object(
            "brokers",
            values,
            rest=f"{name}.{key}",
            is_whole=key == "broker_id" and values != changed,
        )
        for name, (key, values) in said.items()
    }


def _removal_objects() -> dict[str, str]:
    """Return the SQL of the objects that removal records set, by record type.

    A record sets some objects for each partition that it lists.
    """
    begun = {f: f"CAST(r.{f} AS string)" for f in ("delay_ms", "create_time_ms")}
    over = dict.fromkeys(begun, _UNSET)
    gone = dict.fromkeys(PARTITION_FIELDS, _UNSET)
    said = {
        "DeleteTopicPartitionsRecord": {"pending_partition_removals": begun},
        "CancelDeleteTopicPartitionsRecord": {"pending_partition_removals": over},
        "RemovePartitionsRecord": {"pending_partition_removals": over, "partitions": gone},
    }
    return {
        name: _renamed(
            "flatten(transform(r.partition_ids, p -> array({})))".format(
                ", ".join(
                    _object(kind, fields, topic="r.topic_id", rest="'/' || p")
                    for kind, fields in objects.items()
                )
            ),
            "r",
            name,
        )
        for name, objects in said.items()
    }


def _voters(history: History, rare: DataFrame) -> DataFrame:
    """Return the settings of voters; each record also unsets the voters it does not list."""
    values = {field: f"voter.{field}" for field in ROWS["voters"] if field != "voter_id"}
    texts = {
        "voter_directory_id": id_text(values.pop("voter_directory_id")),
        **{field: f"to_json({value})" for field, value in values.items()},
    }
    object_ = _object("voters", texts, rest="voter_id")
    rows = history.sql(
        """
        SELECT written.*, known.voter_id,
               get(filter(VotersRecord.voters, v -> v.voter_id = known.voter_id), 0) AS voter
        FROM {rare} AS written
             CROSS JOIN (SELECT DISTINCT each.voter_id
                         FROM (SELECT explode(VotersRecord.voters) AS each FROM {rare})) AS known
        WHERE VotersRecord IS NOT null
        """,
        rare=rare,
    )
    return _said(history, rows, {"VotersRecord": f"array({object_})"})


def _partition_objects() -> dict[str, str]:
    def of(record: str, alias: str, index: int) -> str:
        texts = {
            field: _as_text(_FIELD_TYPES["PartitionRecord"][field], values[index])
            for field, values in PARTITION_FIELDS.items()
        }
        made = _object(
            "partitions",
            texts,
            topic=f"{alias}.topic_id",
            rest=f"'/' || {alias}.partition_id",
            is_whole=alias == "whole",
        )
        return f"array({_renamed(made, alias, record)})"

    return {
        "PartitionRecord": of("PartitionRecord", "whole", 0),
        "PartitionChangeRecord": of("PartitionChangeRecord", "change", 1),
    }


def _gone_with_topics(history: History, rare: DataFrame, set_: DataFrame) -> DataFrame:
    """Return settings that unset every field of the objects that belong to removed topics.

    Args:
        set_: All other settings.
    """
    return history.sql(
        """
        SELECT position, aborted_at, timestamp, origin, 'RemoveTopicRecord' AS record,
               kind, topic_id, head, rest, field, CAST(null AS string) AS value
        FROM {rare_written}
             JOIN (SELECT DISTINCT kind, topic_id, head, rest, field FROM {set_})
             ON topic_id = RemoveTopicRecord.topic_id
        """,
        rare_written=rare,
        set_=set_,
    )


def _renamed(text: str, alias: str, record: str) -> str:
    """Replace the alias of a record in SQL by the record's column."""
    return re.sub(rf"\b{alias}\.", f"{record}.", text)


def _text(record: str, field: str) -> str:
    """Return the SQL of a record's field as text."""
    return _as_text(_FIELD_TYPES[record][field], f"{record}.{field}")


def _as_text(type_: Any, value: str) -> str:
    if isinstance(type_, list):  # a union of null and the type
        type_ = type_[1]
    if type_ == UUID_NAME:
        return id_text(value)
    if type_ == "bytes":
        return base64_text(value)
    if isinstance(type_, str):
        return f"CAST({value} AS string)"
    if type_["items"] == UUID_NAME:
        return f"to_json(transform({value}, id -> {id_text('id')}))"
    return f"to_json({value})"


_UNSET = "CAST(null AS string)"

_FIELD_TYPES = {
    cls.__name__: {
        field["name"]: field["type"] for field in registry.schema(cls.__name__)["fields"]
    }
    for cls in registry.RECORD_TYPES
}
