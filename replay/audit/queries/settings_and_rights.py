"""Audit queries about configs, quotas, ACLs and credentials."""

from collections.abc import Mapping

from replay.acl_words import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES
from replay.audit.queries.query import ID, KIND, OBJECT, ORIGIN, RECORD, Column, Query

MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def _named(value: str, names: Mapping[int, str]) -> str:
    """Return SQL that maps a code to its name; an unknown code stays a number."""
    cases = " ".join(f"WHEN '{code}' THEN '{name}'" for code, name in names.items())
    return f"CASE {value} {cases} ELSE {value} END"


_CHANGE = Column("string", "added, changed or removed")
_CHANGED = """CASE WHEN bool_and(before IS null) THEN 'added'
                WHEN bool_and(after IS null) THEN 'removed' ELSE 'changed' END AS change"""
_UNCHANGED = "the record left it as it was"


def _acl_field(name: str) -> str:
    return f"max(coalesce(after, before)) FILTER (WHERE field = '{name}')"


ACL_CHANGES = Query(
    "acl-changes",
    "ACLs that were added or removed",
    f"""
    SELECT offset, time, {_CHANGED},
           {_acl_field("principal")} AS acl_principal,
           {_named(_acl_field("permission_type"), PERMISSIONS)} AS permission,
           {_named(_acl_field("operation"), OPERATIONS)} AS operation,
           {_named(_acl_field("resource_type"), RESOURCE_TYPES)} AS resource_type,
           {_acl_field("resource_name")} AS resource,
           {_named(_acl_field("pattern_type"), PATTERN_TYPES)} AS pattern,
           {_acl_field("host")} AS host, id, principal, command, reason
    FROM changes
    WHERE kind = 'acls' AND in_effect
    GROUP BY offset, time, id, principal, command, reason
    ORDER BY offset, id
    """,
    {
        **RECORD,
        "change": _CHANGE,
        "acl_principal": Column("string", "whom the ACL is about", null=_UNCHANGED),
        "permission": Column("string", "ALLOW or DENY", null=_UNCHANGED),
        "operation": Column("string", "Kafka's name of it", null=_UNCHANGED),
        "resource_type": Column("string", "Kafka's name of it", null=_UNCHANGED),
        "resource": Column("string", "name or prefix", null=_UNCHANGED),
        "pattern": Column("string", "LITERAL or PREFIXED", null=_UNCHANGED),
        "host": Column("string", "from where; * is anywhere", null=_UNCHANGED),
        "id": ID,
        **ORIGIN,
    },
    kinds=("acls",),
)

SCRAM_CHANGES = Query(
    "scram-changes",
    "SCRAM credentials that were added, changed or removed",
    f"""
    SELECT offset, time, {_CHANGED}, regexp_extract(id, '^(.*)/', 1) AS user,
           {_named("regexp_extract(id, '[^/]*$', 0)", MECHANISMS)} AS mechanism,
           CAST(max(after) FILTER (WHERE field = 'iterations') AS int) AS iterations,
           sort_array(collect_list(field)) AS fields, principal, command, reason
    FROM changes
    WHERE kind = 'scram' AND in_effect
    GROUP BY offset, time, id, principal, command, reason
    ORDER BY offset, user, mechanism
    """,
    {
        **RECORD,
        "change": _CHANGE,
        "user": Column("string", "whose credential it is"),
        "mechanism": Column("string", "Kafka's name of it"),
        "iterations": Column("int", "of the new credential", null="unchanged, or removed"),
        "fields": Column("array<string>", "what changed, sorted"),
        **ORIGIN,
    },
    kinds=("scram",),
)

QUOTA_CHANGES = Query(
    "quota-changes",
    "client quotas that were added, changed or removed",
    """
    SELECT offset, time, substring_index(id, '/', 1) AS quota,
           regexp_extract(id, '/(.*)$', 1) AS entity, CAST(before AS double) AS before,
           CAST(after AS double) AS after, principal, command, reason
    FROM changes
    WHERE kind = 'client_quotas' AND in_effect
    ORDER BY offset, quota, entity
    """,
    {
        **RECORD,
        "quota": Column("string", "such as producer_byte_rate"),
        "entity": Column("string", "JSON: a list of [type, name], sorted; name null: the default"),
        "before": Column("double", "the limit before", "of the quota", "there was none"),
        "after": Column("double", "the limit after", "of the quota", "it was removed"),
        **ORIGIN,
    },
    kinds=("client_quotas",),
)

_NET = """name, id, field, before AS baseline, after AS now, changes, offset, time, principal,
           command, reason
    FROM (SELECT /*+ REPARTITION(1) */ * FROM net_changes)"""

_NET_COLUMNS = {
    **OBJECT,
    "field": Column("string", "field of the object; of configs, the config's name"),
    "baseline": Column("string", "value before the range", null="it was not set"),
    "now": Column("string", "value at the end of the range", null="it is not set"),
    "changes": Column("bigint", "how often it changed in between"),
    "offset": Column("bigint", "of the last change"),
    "time": Column("timestamp", "of the last change"),
    **ORIGIN,
}

CONFIG_DRIFT = Query(
    "config-drift",
    "configs that differ from before --since",
    f"""
    SELECT {_NET}
    WHERE kind = 'configs'
    ORDER BY name, id, field
    """,
    _NET_COLUMNS,
    reads=("net_changes",),
    kinds=("configs",),
    compares_states=True,
)

DIFF = Query(
    "diff",
    "fields of all objects that differ from before --since",
    f"""
    SELECT kind, {_NET}
    ORDER BY kind, name, id, field
    """,
    {"kind": KIND, **_NET_COLUMNS},
    reads=("net_changes",),
    compares_states=True,
)

SETTINGS_AND_RIGHTS = (ACL_CHANGES, SCRAM_CHANGES, QUOTA_CHANGES, CONFIG_DRIFT, DIFF)
