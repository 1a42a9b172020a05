"""Comments of the views' columns; for a record's field, the `doc` in its schema, as in SQL."""

from functools import cache

from records import registry
from records.avro.schema import documented_schema
from replay.audit.found_after_gap import FOUND_SCHEMA
from replay.audit.gaps import GAPS_SCHEMA
from replay.audit.part_fields import PARTS, part_fields
from replay.audit.queries.query import Query
from replay.audit.relations import (
    BY_OBJECT_SCHEMA,
    BY_PRINCIPAL_SCHEMA,
    CHURN_SCHEMA,
    NET_SCHEMA,
    OBJECTS_SCHEMA,
    SCHEMA,
)

Comments = dict[str, str]
"""Comments by column."""

_RECORD: Comments = {
    "time": "When the batch was appended, in UTC.",
    "type": "Name of the record's type.",
    "topic_id": "Id of the record's topic, if it has one.",
    "partition_id": "Number of the record's partition, if it has one.",
    "payload": "The record: one member per type, of which one is not null.",
    "data": "The record as JSON.",
    "confirmed": "False: Kafka may still replace it.",
}
_IN_RANGE: Comments = {"in_range": "True in the range that was asked for, false before it."}
_STATE: Comments = {
    "end_offset": "Of the record that ended the state; null: it has not ended.",
    "end_time": "When it ended; null: it has not.",
    "ms": "How long it lasted in the range, in ms; null: it ended before.",
}
_RELATIONS: dict[str, Comments] = {
    "changes": SCHEMA | {"confirmed": _RECORD["confirmed"]},
    "all_changes": SCHEMA | _IN_RANGE,
    "changed_objects": OBJECTS_SCHEMA,
    "changes_by_object": BY_OBJECT_SCHEMA,
    "changes_by_principal": BY_PRINCIPAL_SCHEMA,
    "net_changes": NET_SCHEMA,
    "partition_churn": CHURN_SCHEMA,
    "partition_outages": {
        "name": "The partition's name, as of the last record.",
        "id": SCHEMA["id"],
        "outages": "How often it was without a leader, other than offline to be removed.",
        "unavailable_ms": "How long in all, in ms.",
        "shortages": "How often fewer replicas were in sync than it has.",
        "under_replicated_ms": "How long in all, in ms.",
    },
    "broker_moves": {
        "hour": SCHEMA["hour"],
        **_IN_RANGE,
        "broker": "Id of the broker.",
        "replicas": "Replicas that it gained; negative: lost.",
        "leaders": "Partitions whose leader it became; negative: no longer is.",
    },
    "contradictions": {
        "offset": SCHEMA["offset"],
        "time": SCHEMA["time"],
        "record": SCHEMA["record"],
        "object": "The object that the record is about.",
        "what": "What it contradicts.",
    },
    "gaps": GAPS_SCHEMA,
    "found_after_gap": FOUND_SCHEMA,
    "period": {
        "first_offset": "The first offset of the range.",
        "first_time": "Time of the last record at or before it; null: there is none.",
        "last_time": "Time of the last record of the range.",
    },
}


@cache
def comments_of(view: str) -> Comments:
    """Return the comments of all columns of a view or of the relation `records`.

    The result may also have comments of columns that the view lacks.
    """
    if view in ("log", "records"):
        return _docs_of_rows() | _RECORD
    if view in ("partition_states", "broker_states"):
        part = "partitions" if view == "partition_states" else "brokers"
        more = {"is_first": "True: no earlier state reaches into the range."}
        more |= {"old": "The fields of the state before."}
        return comments_of(part) | SCHEMA | _IN_RANGE | _STATE | more
    if view == "partitions":
        return _docs(registry.schema("PartitionRecord")["fields"])
    if view in PARTS:
        return _docs(part_fields(view))
    return _RELATIONS[view]


def comments_of_query(query: Query) -> Comments:
    """Return the comments of the columns of a query's answer."""
    found: Comments = {}
    for name, column in query.columns.items():
        unit = f", in {column.unit}" if column.unit else ""
        null = f"; null: {column.null}" if column.null else ""
        found[name] = f"{column.about}{unit}{null}"
    return found


def _docs(fields: list[dict[str, str]]) -> Comments:
    return {field["name"]: field["doc"] for field in fields if "doc" in field}


def _docs_of_rows() -> Comments:
    fields = documented_schema()["fields"]
    (origin,) = (field["type"][1] for field in fields if field["name"] == "origin")
    return _docs(fields) | _docs(origin["fields"])
