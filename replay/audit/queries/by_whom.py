"""Audit queries for changes by a principal, in a time range, or of an object."""

from replay.audit.fold.needed import removed, unexplained
from replay.audit.queries.query import (
    ASKED,
    ID,
    KIND,
    NAME,
    OBJECT,
    ORIGIN,
    RECORD,
    RECORD_TYPE,
    Column,
    Query,
)

_COUNTS = {
    "changes": Column("bigint", "changed fields"),
    "records": Column("bigint", "records that changed something"),
    "first": Column("timestamp", "time of the first of them"),
    "last": Column("timestamp", "time of the last of them"),
}

CHANGES = Query(
    "changes",
    "every field that changed, with who changed it and why",
    """
    SELECT offset, time, kind, name, id, field, before, after, record, principal, command, reason,
           asked_offset, asked_principal, asked_reason, in_effect
    FROM (SELECT /*+ REPARTITION(1) */ * FROM changes)  -- sorted without a sample
    ORDER BY offset, kind, name, id, field
    """,
    {
        **RECORD,
        "kind": KIND,
        **OBJECT,
        "field": Column("string", "field of the object; of configs, the config's name"),
        "before": Column("string", "value before, lists as JSON", null="it was not set"),
        "after": Column("string", "value after, lists as JSON", null="it was removed"),
        "record": RECORD_TYPE,
        **ORIGIN,
        **ASKED,
        "in_effect": Column("boolean", "false if the record's transaction was aborted"),
    },
)

WHO = Query(
    "who",
    "changes by principal and command",
    """
    SELECT principal, command, sum(changes) AS changes,
           sum(records) + size(array_distinct(flatten(collect_list(shared)))) AS records,
           sum(objects) AS objects, min(first) AS first, max(last) AS last
    FROM changes_by_principal
    GROUP BY principal, command
    ORDER BY changes DESC, principal, command
    """,
    {
        "principal": ORIGIN["principal"],
        "command": ORIGIN["command"],
        "changes": _COUNTS["changes"],
        "records": _COUNTS["records"],
        "objects": Column("bigint", "objects that they changed"),
        "first": _COUNTS["first"],
        "last": _COUNTS["last"],
    },
    reads=("changes_by_principal",),
)

OBJECTS = Query(
    "objects",
    "changes by object, and by whom",
    """
    SELECT kind, name, id, changes, records, first, last, principals
    FROM (SELECT /*+ REPARTITION(1) */ * FROM changes_by_object)
    ORDER BY changes DESC, kind, name, id
    """,
    {
        "kind": KIND,
        "name": Column("string", "the object's last name in the range"),
        "id": ID,
        **_COUNTS,
        "principals": Column("array<string>", "who changed it, as far as known, sorted"),
    },
    reads=("changes_by_object",),
)

_OF_OBJECTS = {
    **RECORD,
    "record": RECORD_TYPE,
    "kind": KIND,
    **OBJECT,
    "fields": Column("array<string>", "what changed, sorted"),
    **ORIGIN,
}

UNEXPLAINED = Query(
    "unexplained",
    "changes without a principal or a reason",
    """
    SELECT offset, time, record, kind, name, id, fields, principal, command, reason
    FROM (SELECT /*+ REPARTITION(1) */ *
          FROM changed_objects WHERE in_effect AND (principal IS null OR reason IS null))
    ORDER BY offset, kind, name, id
    """,
    _OF_OBJECTS,
    reads=("changed_objects",),
    where=unexplained,
)

# Integer arithmetic: hour() and weekday() would follow the time zone of the session.
OUT_OF_HOURS = Query(
    "out-of-hours",
    "changes outside working hours; --set from_hour, to_hour, zone",
    """
    SELECT offset, time, record, kind, name, id, fields, principal, command, reason
    FROM (SELECT /*+ REPARTITION(1) */ *
          FROM (SELECT *, unix_millis(from_utc_timestamp(time, :zone)) AS local_ms
                FROM changed_objects WHERE in_effect)
          WHERE pmod(local_ms div 3600000, 24) NOT BETWEEN :from_hour AND :to_hour - 1
                OR pmod(local_ms div 86400000 + 3, 7) >= 5)  -- 1970 began on a Thursday
    ORDER BY offset, kind, name, id
    """,
    _OF_OBJECTS,
    reads=("changed_objects",),
    parameters={"from_hour": 8, "to_hour": 18, "zone": "UTC"},
)

DELETIONS = Query(
    "deletions",
    "who deleted what",
    """
    SELECT offset, time, record, kind, name, id, if(kind = 'configs', field, null) AS config,
           principal, command, reason, asked_offset, asked_principal, asked_reason
    FROM changes
    WHERE in_effect AND after IS null AND kind <> 'pending_partition_removals'
          AND (record LIKE 'Remove%' OR record LIKE 'Unregister%'
               OR kind IN ('client_quotas', 'configs', 'features'))
          -- Partitions and configs go with their topic.
          AND (record <> 'RemoveTopicRecord' OR kind = 'topics')
    GROUP BY ALL
    ORDER BY offset, kind, name, id, config
    """,
    {
        **RECORD,
        "record": RECORD_TYPE,
        "kind": KIND,
        **OBJECT,
        "config": Column("string", "name of the config", null="the object is no config"),
        **ORIGIN,
        **ASKED,
    },
    fields=("replicas",),  # a partition that is removed loses all its fields
    where=removed,
)

TOPIC_LIVES = Query(
    "topic-lives",
    "when each topic held which name, and by whom",
    """
    SELECT name, id AS topic_id, offset AS from_offset, time AS from_time, record AS from_record,
           principal AS from_principal, to_offset, to_time, to_record, to_principal, to_reason
    FROM (SELECT *, lead(offset) OVER life AS to_offset, lead(time) OVER life AS to_time,
                 lead(record) OVER life AS to_record, lead(principal) OVER life AS to_principal,
                 lead(reason) OVER life AS to_reason, lead(in_range) OVER life AS ends_in_range
          FROM (SELECT DISTINCT id, name, offset, time, record, principal, reason, in_range
                FROM all_changes WHERE kind = 'topics' AND in_effect)
          WINDOW life AS (PARTITION BY id ORDER BY offset))
    WHERE record <> 'RemoveTopicRecord' AND coalesce(ends_in_range, true)
    ORDER BY name, from_offset
    """,
    {
        "name": NAME,
        "topic_id": Column("string", "which topic; a topic created again has another"),
        "from_offset": Column("bigint", "where the topic was created or moved to the name"),
        "from_time": Column("timestamp", "time of that record"),
        "from_record": Column("string", "TopicRecord or MoveTopicRecord"),
        "from_principal": ORIGIN["principal"],
        "to_offset": Column("bigint", "where it was moved away or removed", null="it is there"),
        "to_time": Column("timestamp", "time of that record", null="it is there"),
        "to_record": Column("string", "MoveTopicRecord or RemoveTopicRecord", null="it is there"),
        "to_principal": Column("string", "who asked for that", null="unknown, or it is there"),
        "to_reason": Column("string", "why", null="none was given, or it is there"),
    },
    reads=("all_changes",),
    kinds=("topics",),
)

STATE = Query(
    "state",
    "the parts of the state at --until, and their digests",
    "SELECT * FROM part_digests ORDER BY part",
    {
        "part": Column("string", "name of the part in docs/digest.md"),
        "objects": Column("bigint", "how many it has"),
        **{f"lane_{n}": Column("decimal(20,0)", f"lane {n} of its digest") for n in range(4)},
    },
    reads=("part_digests",),
)

BY_WHOM = (STATE, CHANGES, WHO, OBJECTS, UNEXPLAINED, OUT_OF_HOURS, DELETIONS, TOPIC_LIVES)
