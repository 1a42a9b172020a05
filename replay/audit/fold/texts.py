"""Encodes objects as text, as docs/digest.md defines, and sums the hashes of the texts."""

import base64
import hashlib
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as pc

ALWAYS_LISTED = {
    *("acls", "brokers", "client_quotas", "configs", "controllers", "delegation_tokens"),
    *("features", "namespaces", "notes", "partitions", "pending_partition_removals"),
    *("producer_ids", "replica_deletions", "scram", "topics", "zk_migration"),
}
"""Parts that have a line even when empty; an empty part added by a later release has no line."""

Item = Callable[[Any], str]
"""Encodes a value as text: one digest item, or several joined."""

_ID_LENGTH = 22


def _item(text: str) -> str:
    return f"{len(text.encode())}:{text}"


def _plain(value: str | int | None) -> str:
    return "-" if value is None else _item(str(value))


def _flag(value: bool | None) -> str:
    return "-" if value is None else f"1:{value:d}"


def base64_text(value: str | bytes) -> str:
    """Return bytes, which may be given in base64, as URL-safe base64."""
    text = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    return text.replace("+", "-").replace("/", "_")


def _octets(value: str | bytes | None) -> str:
    return "-" if value is None else _item(base64_text(value))


def id_text(value: str | bytes) -> str:
    """Return an id, which may be given in base64, as 22 characters of URL-safe base64."""
    return base64_text(value)[:_ID_LENGTH]


def _id(value: str | bytes | None) -> str:
    return "-" if value is None else f"{_ID_LENGTH}:{id_text(value)}"


def _double(value: float | str | None) -> str:
    # Spark writes some doubles as text, such as "NaN".
    return "-" if value is None else _plain(*struct.unpack(">q", struct.pack(">d", float(value))))


def _list(item: Item) -> Item:
    def items(values: list[Any] | None) -> str:
        values = values or []
        return _plain(len(values)) + "".join(map(item, values))

    return items


def _sorted_ids(values: list[str | bytes] | None) -> str:
    # Sorted by their texts: base64 does not keep the order of the bytes.
    return _list(_item)(sorted(map(id_text, values or [])))


def _sorted_texts(values: list[str] | None) -> str:
    return _list(_plain)(sorted(values or []))


def _unless_empty(items: Item) -> Item:
    """Return the encoder `items`, but with an empty text for an empty list.

    Used for lists that a later release added.
    """
    return lambda values: items(values) if values else ""


def _struct(**fields: Item) -> Item:
    return lambda value: _row(value, fields)


def _by_name(**fields: Item) -> Item:
    """Return the function that encodes a list of structures, sorted by their names."""
    structs = _list(_struct(name=_plain, **fields))
    return lambda values: structs(sorted(values or [], key=lambda each: each["name"]))


def _entity(values: list[dict[str, Any]] | None) -> str:
    """Encode the (type, name) pairs of a quota's entity, sorted by type."""
    pairs = {(each["entity_type"], each.get("entity_name")) for each in values or []}
    ordered = sorted(pairs, key=lambda pair: (pair[0], pair[1] or ""))
    return _list(lambda pair: "".join(map(_plain, pair)))(ordered)


def _row(value: Mapping[str, Any], fields: Mapping[str, Item]) -> str:
    return "".join([item(value.get(name)) for name, item in fields.items()])


_INTS = _list(_plain)
_END_POINTS = _by_name(host=_plain, port=_plain, security_protocol=_plain)
_FEATURES = _by_name(min_supported_version=_plain, max_supported_version=_plain)

ROWS: dict[str, dict[str, Item]] = {
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
        "entity": _entity,
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
        "renewers": _sorted_texts,
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
        "endpoints": _by_name(host=_plain, port=_plain),
        "kraft_version_feature": _struct(
            min_supported_version=_plain, max_supported_version=_plain
        ),
    },
    "zk_migration": {"zk_migration_state": _plain},
}
"""The digest items that follow the part's name in a row, by part, in order."""


class Sums:
    """Number of objects of one part, and the lanes of the part's digest."""

    def __init__(self, part: str) -> None:
        self._name = f"{len(part)}:{part}"
        self._items = ROWS[part]
        self._digests: list[bytes] = []

    def add(self, fields: Mapping[str, Any]) -> None:
        """Add an object, given as its fields by name; bytes are in base64."""
        self._add(f"{self._name}{_row(fields, self._items)}".encode())

    def add_batch(self, objects: pyarrow.RecordBatch) -> None:
        """Add objects whose fields are ids, integers, or lists of ids or integers."""
        columns = [_texts(objects[name]) for name in self._items]
        texts = pc.binary_join_element_wise(self._name, *columns, "")
        for text in texts.cast(pyarrow.binary()).to_pylist():
            self._add(text)

    def numbers(self) -> list[int]:
        """Return the number of objects and the four lanes."""
        words = numpy.frombuffer(b"".join(self._digests), dtype=">u8").reshape(-1, 4)
        return [len(self._digests), *map(int, words.sum(axis=0, dtype=numpy.uint64))]

    def _add(self, text: bytes) -> None:
        self._digests.append(hashlib.sha256(text).digest())


def _texts(values: pyarrow.Array) -> pyarrow.Array:
    """Return the text of each value; a value is an id, an integer, or a list of them."""
    if not pyarrow.types.is_list(values.type):
        return _texts_of_distinct(values, _id if values.type == pyarrow.binary() else _plain)
    counts = pc.fill_null(pc.list_value_length(values), 0)
    ends = numpy.cumsum(counts.to_numpy(), dtype=numpy.int32)
    items = pyarrow.ListArray.from_arrays([0, *ends], _texts(values.flatten()))
    return pc.binary_join_element_wise(
        _texts_of_distinct(counts, _plain), pc.binary_join(items, ""), ""
    )


def _texts_of_distinct(values: pyarrow.Array, item: Item) -> pyarrow.Array:
    """Return the text of each value, encoding equal values once."""
    distinct = values.dictionary_encode(null_encoding="encode")
    texts = [item(value) for value in distinct.dictionary.to_pylist()]
    return pyarrow.array(texts, pyarrow.string()).take(distinct.indices)
