"""Checks of raw records from clients: refuses records that replay accepts but no command writes.

The error for a single record begins with `record N of COUNT: `, counted from 1.
"""

from collections.abc import Callable, Mapping
from typing import Any

from controller.decisions.ids import can_be_id
from controller.decisions.levels import feature_in_use, first_missing_level
from controller.decisions.names import check_namespace_name, check_topic_name, tiers
from controller.decisions.partitions.replica_deletions import deletion_states
from controller.decisions.partitions.replica_states import check_deletion
from records import control
from records.base import Record, Uuid
from records.configs import ConfigRecord, FeatureLevelRecord
from records.errors import RequestError
from records.partitions import ReplicaDeletionRecord
from records.text import uuid_text
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveNamespaceRecord, TopicRecord
from replay.image.configs import BROKER, NAMESPACE, TOPIC
from replay.image.metadata import MetadataImage

# Records about the log itself, and transaction markers; only the log and the controller write them.
_NOT_FOR_CALLERS: frozenset[type[Record]] = frozenset(
    {
        control.LeaderChangeMessage,
        control.SnapshotHeaderRecord,
        control.SnapshotFooterRecord,
        control.KRaftVersionRecord,
        control.VotersRecord,
        control.BeginTransactionRecord,
        control.EndTransactionRecord,
        control.AbortTransactionRecord,
        control.NoOpRunRecord,
        control.UnknownRecord,
    }
)


Types = frozenset[type[Record]]
"""The types of all records of a batch; checks of other types need not read the records."""


def check_before(image: MetadataImage, records: tuple[Record, ...], types: Types) -> None:
    """Check records against the state before them; the records must be encodable.

    Raises:
        RequestError: INVALID_RECORD, a record has a type that callers may not write, needs a
            feature level that is not finalized, or is not a legal step of a replica deletion.
    """
    if not types.isdisjoint(_NOT_FOR_CALLERS):
        _check_authors(records)
    if ReplicaDeletionRecord in types:
        _check_deletions(image, records)
    _check_levels(image, records, types)


def check_after(after: MetadataImage, records: tuple[Record, ...], types: Types) -> None:
    """Check names, and the whole-image invariants of the objects in the records.

    Args:
        after: The image after the records.

    Raises:
        RequestError: INVALID_RECORD, a name or an id that no command allows, or an object remains
            that depends on a removed namespace or feature.
    """
    if not types.isdisjoint(_CHECKS):
        _check_each(after, records)
    if RemoveNamespaceRecord in types:
        _check_namespaces_left(after)
    if FeatureLevelRecord in types:
        _check_features_left(after, records)


def _check_authors(records: tuple[Record, ...]) -> None:
    for index, record in enumerate(records):
        if type(record) in _NOT_FOR_CALLERS:
            name = type(record).__name__
            raise invalid(f"{place(index, len(records))}{name} cannot be written by callers")


def _check_each(after: MetadataImage, records: tuple[Record, ...]) -> None:
    """Check the records one by one; the error begins with the record's number."""
    for index, record in enumerate(records):
        if isinstance(record, ConfigRecord) and record.resource_type == BROKER:
            continue  # the most frequent ones, without a call
        check = _CHECKS.get(type(record))
        if check is not None:
            try:
                check(after, record)
            except RequestError as error:
                raise invalid(f"{place(index, len(records))}{error}") from None


def place(index: int, count: int) -> str:
    """Return the beginning of an error for one record: `record N of COUNT: `."""
    return f"record {index + 1} of {count}: "


def _check_deletions(image: MetadataImage, records: tuple[Record, ...]) -> None:
    states: dict[tuple[object, ...], int] = dict(deletion_states(image).items())
    for record in records:
        if isinstance(record, ReplicaDeletionRecord):
            key = (record.topic_id, record.partition_id, record.broker_id)
            registered = image.broker(record.broker_id) is not None
            check_deletion(states.get(key), record.state, registered=registered)
            states[key] = record.state


def _check_levels(image: MetadataImage, records: tuple[Record, ...], types: Types) -> None:
    """Refuse a record that needs a feature level which is not finalized before this record."""
    missing = first_missing_level(image.features(), records, types)
    if missing is not None:
        index, name, level = missing
        raise invalid(
            f"{place(index, len(records))}{type(records[index]).__name__} needs the feature "
            f"{name} at level {level}; run `metalog features upgrade {name}={level}` first"
        )


def _check_features_left(after: MetadataImage, records: tuple[Record, ...]) -> None:
    """Refuse to remove a feature while the image has objects that need it."""
    changed = {record.name for record in records if isinstance(record, FeatureLevelRecord)}
    for name in sorted(changed):
        if not after.feature(name) and feature_in_use(after, name):
            raise invalid(
                f"there are still objects that need the feature {name}; remove these objects first"
            )


def _check_topic(_: MetadataImage, record: TopicRecord) -> None:
    check_topic_name(record.name)
    _check_id(record.topic_id)


def _check_move(_: MetadataImage, record: MoveTopicRecord) -> None:
    check_topic_name(record.name)


def _check_namespace(after: MetadataImage, record: NamespaceRecord) -> None:
    check_namespace_name(record.name)
    missing = [tier for tier in tiers(record.name) if after.namespace_by_name(tier) is None]
    if missing:
        raise invalid(f"namespace {record.name!r} needs the missing namespace {missing[0]!r}")
    _check_id(record.namespace_id)


def _check_config(after: MetadataImage, record: ConfigRecord) -> None:
    if record.value is None:
        return
    name = record.resource_name
    if record.resource_type == TOPIC and after.topic_by_full_name(name) is None:
        raise invalid(f"a config is set on topic {name!r}, which does not exist")
    if record.resource_type == NAMESPACE and after.namespace_by_name(name) is None:
        raise invalid(f"a config is set on namespace {name!r}, which does not exist")


def _check_id(new_id: Uuid) -> None:
    if not can_be_id(new_id):
        raise invalid(f"{uuid_text(new_id)} cannot be an id: it is reserved or begins with '-'")


_CHECKS: Mapping[type[Record], Callable[[MetadataImage, Any], None]] = {
    TopicRecord: _check_topic,
    MoveTopicRecord: _check_move,
    NamespaceRecord: _check_namespace,
    ConfigRecord: _check_config,
}


def _check_namespaces_left(after: MetadataImage) -> None:
    """Refuse the records if a removed namespace still has configs, or namespaces below it.

    Costs O(all namespaces and configs).
    """
    orphans = [n.name for n in after.namespaces() if _lacks_a_tier(after, n.name)]
    if orphans:
        raise invalid(f"namespace {min(orphans)!r} would lose the namespace above it")
    for (resource_type, name), _ in after.configs():
        if resource_type == NAMESPACE and after.namespace_by_name(name) is None:
            raise invalid(f"namespace {name!r}, which is removed, still has configs")


def _lacks_a_tier(image: MetadataImage, name: str) -> bool:
    return any(image.namespace_by_name(tier) is None for tier in tiers(name))


def invalid(reason: str) -> RequestError:
    """Return the error for invalid records."""
    return RequestError("INVALID_RECORD", reason)
