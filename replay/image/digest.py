"""The digest of an image; docs/digest.md defines it."""

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator

import msgspec

from records.base import Uuid
from records.text import bytes_text, uuid_text
from replay.image.cluster import Endpoint, SupportedFeature
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition

_LANES = struct.Struct(">4Q")
_LANE_MODULUS = 1 << 64
_CACHE_SIZE_MAX = 65_536

FIRST_PARTS = frozenset(
    {
        *("acls", "brokers", "client_quotas", "configs", "controllers", "delegation_tokens"),
        *("features", "namespaces", "notes", "partitions", "pending_partition_removals"),
        *("producer_ids", "replica_deletions", "scram", "topics", "zk_migration"),
    }
)
"""Parts with a line in every digest. Parts added later have one only if not empty."""


class PartDigest(msgspec.Struct, frozen=True, gc=False):
    """Digest of one part: how many rows, and the sums of the four words of their SHA-256."""

    count: int
    lanes: tuple[int, int, int, int]


def image_digest(image: MetadataImage) -> str:
    """Return the digest of a whole image: O(objects)."""
    return digest_of_parts(part_digests(image))


def part_digests(image: MetadataImage) -> dict[str, PartDigest]:
    """Return the digest of every part, empty ones included, in the order of their names."""
    return {part: digest_of_rows(rows(image)) for part, rows in PART_ROWS.items()}


def digest_of_parts(parts: dict[str, PartDigest]) -> str:
    """Combine the parts' digests into that of the image."""
    lines = [
        f"{part} {parts[part].count} {' '.join(map(str, parts[part].lanes))}\n"
        for part in sorted(parts)
        if part in FIRST_PARTS or parts[part].count
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def digest_of_rows(rows: Iterable[str]) -> PartDigest:
    """Return the digest of rows; their order does not matter."""
    count = lane_0 = lane_1 = lane_2 = lane_3 = 0
    sha256, unpack = hashlib.sha256, _LANES.unpack
    for row in rows:
        word_0, word_1, word_2, word_3 = unpack(sha256(row.encode()).digest())
        count += 1
        lane_0 += word_0
        lane_1 += word_1
        lane_2 += word_2
        lane_3 += word_3
    lanes = (lane_0, lane_1, lane_2, lane_3)
    first, second, third, fourth = (lane % _LANE_MODULUS for lane in lanes)
    return PartDigest(count, (first, second, third, fourth))


def _text(value: str | None) -> str:
    return "-" if value is None else f"{len(value.encode())}:{value}"


class _IntItems(dict[int, str]):
    """Items of integers, cached for small ones."""

    def __missing__(self, value: int) -> str:
        item = _text(str(value))
        if -1 <= value < 1_000:
            self[value] = item
        return item


class _IntListItems(dict[tuple[int, ...], str]):
    """Items of lists of integers, cached because replica lists repeat."""

    def __missing__(self, values: tuple[int, ...]) -> str:
        if len(self) >= _CACHE_SIZE_MAX:
            self.clear()
        text = self[values] = _list([_int(value) for value in values])
        return text


_int = _IntItems().__getitem__
_ints = _IntListItems().__getitem__


def _bool(value: bool) -> str:
    return "1:1" if value else "1:0"


def _id(value: Uuid | None) -> str:
    return "-" if value is None else f"22:{uuid_text(value)}"


def _bytes(value: bytes) -> str:
    return _text(bytes_text(value))


def _double(value: float) -> str:
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return _int(bits)


def _list(items: list[str]) -> str:
    return _int(len(items)) + "".join(items)


def _ids(values: Iterable[Uuid]) -> str:
    return _list([_id(value) for value in values])


def _id_set(values: tuple[Uuid, ...]) -> str:
    return _ids(sorted(values, key=uuid_text))


def _end_points(values: tuple[Endpoint, ...]) -> str:
    # Strings compare by code point, which is the order of their UTF-8 bytes.
    by_name = sorted(values, key=lambda value: value.name)
    return _list(
        [_text(e.name) + _text(e.host) + _int(e.port) + _int(e.security_protocol) for e in by_name]
    )


def _features(values: tuple[SupportedFeature, ...]) -> str:
    by_name = sorted(values, key=lambda value: value.name)
    return _list(
        [
            _text(f.name) + _int(f.min_supported_version) + _int(f.max_supported_version)
            for f in by_name
        ]
    )


def _acl_rows(image: MetadataImage) -> Iterator[str]:
    for acl in image.acls():
        yield (
            f"4:acls{_id(acl.id)}{_int(acl.resource_type)}{_text(acl.resource_name)}"
            f"{_int(acl.pattern_type)}{_text(acl.principal)}{_text(acl.host)}"
            f"{_int(acl.operation)}{_int(acl.permission_type)}"
        )


def _broker_rows(image: MetadataImage) -> Iterator[str]:
    for broker in image.brokers():
        yield (
            f"7:brokers{_int(broker.broker_id)}{_id(broker.incarnation_id)}"
            f"{_int(broker.broker_epoch)}{_end_points(broker.end_points)}"
            f"{_features(broker.features)}{_text(broker.rack)}{_bool(broker.fenced)}"
            f"{_bool(broker.in_controlled_shutdown)}{_bool(broker.is_migrating_zk_broker)}"
            f"{_id_set(broker.log_dirs)}"
        )


def _quota_rows(image: MetadataImage) -> Iterator[str]:
    for quota in image.quotas():
        entity = [_text(entity_type) + _text(name) for entity_type, name in quota.entity]
        yield f"13:client_quotas{_list(entity)}{_text(quota.key)}{_double(quota.value)}"


def _config_rows(image: MetadataImage) -> Iterator[str]:
    for (resource_type, resource_name), values in image.configs():
        resource = f"7:configs{_int(resource_type)}{_text(resource_name)}"
        for name, value in values.items():
            yield f"{resource}{_text(name)}{_text(value)}"


def _controller_rows(image: MetadataImage) -> Iterator[str]:
    for controller in image.controllers():
        yield (
            f"11:controllers{_int(controller.controller_id)}{_id(controller.incarnation_id)}"
            f"{_bool(controller.zk_migration_ready)}{_end_points(controller.end_points)}"
            f"{_features(controller.features)}"
        )


def _delegation_token_rows(image: MetadataImage) -> Iterator[str]:
    for token in image.delegation_tokens():
        renewers = [_text(renewer) for renewer in sorted(token.renewers)]
        yield (
            f"17:delegation_tokens{_text(token.token_id)}{_text(token.owner)}"
            f"{_text(token.requester)}{_list(renewers)}{_int(token.issue_timestamp)}"
            f"{_int(token.max_timestamp)}{_int(token.expiration_timestamp)}"
        )


def _feature_rows(image: MetadataImage) -> Iterator[str]:
    for name, level in image.features().items():
        yield f"8:features{_text(name)}{_int(level)}"


def _namespace_rows(image: MetadataImage) -> Iterator[str]:
    for namespace in image.namespaces():
        yield f"10:namespaces{_id(namespace.namespace_id)}{_text(namespace.name)}"


def _note_rows(image: MetadataImage) -> Iterator[str]:
    for note in image.notes():
        yield f"5:notes{_int(note.at_offset)}{_text(note.author)}{_text(note.text)}"


def _partition_rows(image: MetadataImage) -> Iterator[str]:
    for topic in image.topics():
        head = f"10:partitions{_id(topic.topic_id)}"
        for partition in image.partitions(topic.topic_id):
            yield head + _partition_fields(partition)


def _partition_fields(p: Partition) -> str:
    return (
        f"{_int(p.partition_id)}{_ints(p.replicas)}{_ints(p.isr)}{_ints(p.removing_replicas)}"
        f"{_ints(p.adding_replicas)}{_int(p.leader)}{_int(p.leader_recovery_state)}"
        f"{_int(p.leader_epoch)}{_int(p.partition_epoch)}{_ids(p.directories)}"
        f"{_ints(p.eligible_leader_replicas)}{_ints(p.last_known_elr)}{_int(p.mode)}"
    )


def _pending_removal_rows(image: MetadataImage) -> Iterator[str]:
    for pending in image.pending_removals():
        yield (
            f"26:pending_partition_removals{_id(pending.topic_id)}{_int(pending.partition_id)}"
            f"{_int(pending.delay_ms)}{_int(pending.create_time_ms)}"
        )


def _producer_ids_rows(image: MetadataImage) -> Iterator[str]:
    block = image.producer_ids
    if block is not None:
        yield (
            f"12:producer_ids{_int(block.broker_id)}{_int(block.broker_epoch)}"
            f"{_int(block.next_producer_id)}"
        )


def _replica_deletion_rows(image: MetadataImage) -> Iterator[str]:
    for deletion in image.replica_deletions():
        yield (
            f"17:replica_deletions{_id(deletion.topic_id)}{_int(deletion.partition_id)}"
            f"{_int(deletion.broker_id)}{_int(deletion.state)}"
        )


def _scram_rows(image: MetadataImage) -> Iterator[str]:
    for credential in image.scram():
        yield (
            f"5:scram{_text(credential.name)}{_int(credential.mechanism)}"
            f"{_bytes(credential.salt)}{_bytes(credential.stored_key)}"
            f"{_bytes(credential.server_key)}{_int(credential.iterations)}"
        )


def _topic_rows(image: MetadataImage) -> Iterator[str]:
    for topic in image.topics():
        yield f"6:topics{_id(topic.topic_id)}{_text(topic.name)}{_id(topic.namespace_id)}"


def _zk_migration_rows(image: MetadataImage) -> Iterator[str]:
    if image.zk_migration is not None:
        yield f"12:zk_migration{_int(image.zk_migration)}"


PART_ROWS: dict[str, Callable[[MetadataImage], Iterator[str]]] = {
    "acls": _acl_rows,
    "brokers": _broker_rows,
    "client_quotas": _quota_rows,
    "configs": _config_rows,
    "controllers": _controller_rows,
    "delegation_tokens": _delegation_token_rows,
    "features": _feature_rows,
    "namespaces": _namespace_rows,
    "notes": _note_rows,
    "partitions": _partition_rows,
    "pending_partition_removals": _pending_removal_rows,
    "producer_ids": _producer_ids_rows,
    "replica_deletions": _replica_deletion_rows,
    "scram": _scram_rows,
    "topics": _topic_rows,
    "zk_migration": _zk_migration_rows,
}
"""For each part, in the order of the document, a function that gives the texts of its rows."""
