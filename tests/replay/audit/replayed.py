"""The changes found by replay, in the form of the audit's table of changes."""

import json
from typing import Any

from replay.time_travel.changes import Change

KINDS = {
    "acl": "acls",
    "broker": "brokers",
    "deletion": "replica_deletions",
    "feature": "features",
    "namespace": "namespaces",
    "partition": "partitions",
    "removal": "pending_partition_removals",
    "scram": "scram",
    "token": "delegation_tokens",
    "voter": "voters",
}
FIELDS = {
    *("replicas", "isr", "removing_replicas", "adding_replicas", "leader", "mode"),
    *("leader_recovery_state", "name", "level", "delay_ms", "create_time_ms", "state"),
    *("fenced", "in_controlled_shutdown", "rack", "broker_epoch", "iterations", "operation"),
    *("host", "principal", "resource_name", "owner", "requester", "max_timestamp", "endpoints"),
}
"""Those that hold no ids and are not derived."""

NAMED = {
    "deletion": "replica_deletions",
    "namespace": "namespaces",
    "partition": "partitions",
    "removal": "pending_partition_removals",
    "topic": "topics",
}
"""The kinds whose objects have ids and names."""


def object_of(kind: str, name: str, id_: str) -> str | None:
    """Return replay's name of an object; None if the kind's objects have no ids.

    Replay names a replica deletion by its topic's id, because the topic may be gone.
    """
    kinds = {part: word for word, part in NAMED.items()}
    if kind not in kinds:
        return None
    return f"{kinds[kind]}:{f'@{id_}' if kinds[kind] == 'deletion' else name}"


def kind_of(change: Change) -> str | None:
    """Return the audit's name of the part; None if replay and audit format its keys differently."""
    return KINDS.get(change.object.partition(":")[0])


def text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool() | list():
            return json.dumps(value, separators=(",", ":"))
    return str(value)
