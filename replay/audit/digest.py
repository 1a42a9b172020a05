"""Computes the digest of docs/digest.md in plain Spark SQL."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from replay.audit.history import History
from replay.audit.state import state

_HALF_WORDS = 8
"""SHA-256 is summed in 32-bit halves: their sums over any image fit Spark's long."""

_ALWAYS_LISTED = {
    *("acls", "brokers", "client_quotas", "configs", "controllers", "delegation_tokens"),
    *("features", "namespaces", "notes", "partitions", "pending_partition_removals"),
    *("producer_ids", "replica_deletions", "scram", "topics", "zk_migration"),
}
"""Parts that have a line even when empty; parts added by later releases have none then."""

Items = Callable[[str], str]
"""Returns the SQL of a value's items, joined, from the SQL of the value."""


def _item(text: str) -> str:
    return f"coalesce(concat(octet_length({text}), ':', {text}), '-')"


def _plain(value: str) -> str:
    return _item(f"CAST({value} AS string)")


def _flag(value: str) -> str:
    return f"coalesce(if({value}, '1:1', '1:0'), '-')"


def base64_text(value: str) -> str:
    """Return SQL that encodes bytes as URL-safe base64."""
    # Some releases of Spark break long base64 into lines.
    return f"translate(base64({value}), '+/\\r\\n', '-_')"


def _octets(value: str) -> str:
    return _item(base64_text(value))


def id_text(value: str) -> str:
    """Return SQL that encodes an id as 22 characters of URL-safe base64."""
    return f"substring({base64_text(value)}, 1, 22)"


def _id(value: str) -> str:
    return f"coalesce('22:' || {id_text(value)}, '-')"


def _double(value: str) -> str:
    return _item(f"java_method('java.lang.Double', 'doubleToRawLongBits', {value})")


def _list(element: Items) -> Items:
    def items(values: str) -> str:
        present = f"coalesce({values}, array())"
        joined = f"array_join(transform({present}, e -> {element('e')}), '')"
        return f"concat({_plain(f'size({present})')}, {joined})"

    return items


def _sorted(element: Items) -> Items:
    """Like `_list`, but sorts the items: strings, or structs whose first field is a string."""
    return lambda values: _list(element)(f"array_sort({values})")


def _set(element: Items) -> Items:
    """Like `_sorted`, but without duplicate items."""
    return lambda values: _sorted(element)(f"array_distinct({values})")


def _sorted_ids(values: str) -> str:
    # Sorted by their texts: base64 does not keep the order of the bytes.
    return _list(_item)(f"array_sort(transform({values}, id -> {id_text('id')}))")


def _unless_empty(items: Items) -> Items:
    """Like `items`, but an empty list gives an empty text; for lists that a later release added."""
    return lambda values: f"if(cardinality({values}) > 0, {items(values)}, '')"


def _struct(**fields: Items) -> Items:
    return lambda value: _row(value, fields)


def _row(value: str, fields: Mapping[str, Items]) -> str:
    return f"concat({', '.join(items(f'{value}.{name}') for name, items in fields.items())})"


_INTS = _list(_plain)
_END_POINTS = _sorted(_struct(name=_plain, host=_plain, port=_plain, security_protocol=_plain))
_FEATURES = _sorted(
    _struct(name=_plain, min_supported_version=_plain, max_supported_version=_plain)
)

ROWS: dict[str, dict[str, Items]] = {
    "acls": {
        "id": _id,
        "resource_type": _plain,
        "resource_name": _plain,
        "pattern_type": _plain,
        "principal": _plain,
        "host": _plain,
        "operation": _plain,
        "permission_type": _plain,
    },
    "brokers": {
        "broker_id": _plain,
        "incarnation_id": _id,
        "broker_epoch": _plain,
        "end_points": _END_POINTS,
        "features": _FEATURES,
        "rack": _plain,
        "fenced": _flag,
        "in_controlled_shutdown": _flag,
        "is_migrating_zk_broker": _flag,
        "log_dirs": _sorted_ids,
        "cordoned_log_dirs": _unless_empty(_sorted_ids),
    },
    "client_quotas": {
        "entity": _set(_struct(entity_type=_plain, entity_name=_plain)),
        "key": _plain,
        "value": _double,
    },
    "configs": {
        "resource_type": _plain,
        "resource_name": _plain,
        "name": _plain,
        "value": _plain,
    },
    "controllers": {
        "controller_id": _plain,
        "incarnation_id": _id,
        "zk_migration_ready": _flag,
        "end_points": _END_POINTS,
        "features": _FEATURES,
    },
    "delegation_tokens": {
        "token_id": _plain,
        "owner": _plain,
        "requester": _plain,
        "renewers": _sorted(_plain),
        "issue_timestamp": _plain,
        "max_timestamp": _plain,
        "expiration_timestamp": _plain,
    },
    "features": {"name": _plain, "feature_level": _plain},
    "kraft_version": {"kraft_version": _plain},
    "namespaces": {"namespace_id": _id, "name": _plain},
    "notes": {"at_offset": _plain, "author": _plain, "text": _plain},
    "partitions": {
        "topic_id": _id,
        "partition_id": _plain,
        "replicas": _INTS,
        "isr": _INTS,
        "removing_replicas": _INTS,
        "adding_replicas": _INTS,
        "leader": _plain,
        "leader_recovery_state": _plain,
        "leader_epoch": _plain,
        "partition_epoch": _plain,
        "directories": _list(_id),
        "eligible_leader_replicas": _INTS,
        "last_known_elr": _INTS,
        "mode": _plain,
    },
    "pending_partition_removals": {
        "topic_id": _id,
        "partition_id": _plain,
        "delay_ms": _plain,
        "create_time_ms": _plain,
    },
    "producer_ids": {"broker_id": _plain, "broker_epoch": _plain, "next_producer_id": _plain},
    "replica_deletions": {
        "topic_id": _id,
        "partition_id": _plain,
        "broker_id": _plain,
        "state": _plain,
    },
    "scram": {
        "name": _plain,
        "mechanism": _plain,
        "salt": _octets,
        "stored_key": _octets,
        "server_key": _octets,
        "iterations": _plain,
    },
    "topics": {"topic_id": _id, "name": _plain, "namespace_id": _id},
    "voters": {
        "voter_id": _plain,
        "voter_directory_id": _id,
        "endpoints": _sorted(_struct(name=_plain, host=_plain, port=_plain)),
        "kraft_version_feature": _struct(
            min_supported_version=_plain, max_supported_version=_plain
        ),
    },
    "zk_migration": {"zk_migration_state": _plain},
}
"""The items of each part's rows after the part's name, in order."""


def audit_digest(history: History) -> str:
    """Return the digest of the state at the end of a history, in lower-case hexadecimal."""
    return hashlib.sha256("".join(digest_lines(state(history))).encode("ascii")).hexdigest()


def digest_lines(frames: Iterable[DataFrame]) -> list[str]:
    """Return lines `<part> <count> <lane 0> <lane 1> <lane 2> <lane 3>\\n`, ordered by part.

    A part that differs between two states has different lines; equal parts have equal lines.

    Args:
        frames: Frames of objects, as returned by `state`.
    """
    rows = reduce(DataFrame.union, map(_rows, frames))
    sums = (
        f"sum(CAST(conv(substring(sha, {1 + 8 * n}, 8), 16, 10) AS long))"
        for n in range(_HALF_WORDS)
    )
    digests = rows.selectExpr("part", "sha2(text, 256) AS sha").groupBy("part")
    by_part = {
        part: numbers
        for part, *numbers in digests.agg(F.expr("count(*)"), *map(F.expr, sums)).collect()
    }
    nothing = [0] * (1 + _HALF_WORDS)
    listed = sorted(_ALWAYS_LISTED | by_part.keys())
    return [_line(part, *by_part.get(part, nothing)) for part in listed]


def _rows(objects: DataFrame) -> DataFrame:
    """Return (part string, text string) of each object; the digest is a hash of the texts."""
    names = " ".join(f"WHEN {part} IS NOT null THEN '{part}'" for part in objects.columns)
    texts = " ".join(
        f"WHEN {part} IS NOT null THEN '{len(part)}:{part}' || {_row(part, ROWS[part])}"
        for part in objects.columns
    )
    return objects.selectExpr(f"CASE {names} END AS part", f"CASE {texts} END AS text")


def _line(part: str, count: int, *half_words: int) -> str:
    highs, lows = half_words[::2], half_words[1::2]
    lanes = [((high << 32) + low) % 2**64 for high, low in zip(highs, lows, strict=True)]
    return f"{part} {count} {' '.join(map(str, lanes))}\n"
