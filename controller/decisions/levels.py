"""Feature levels, the record layout versions that each uses, and the level that each record needs.

A record may be written only if the level that it needs is finalized, because nodes of an older
release, which support only lower levels, cannot read it.

Source: MetadataVersion of Kafka 4.0 and of 2026 (records/metadata_versions.py); KIP-584 (features),
KIP-778 (metadata.version); the features of namespaces and partition modes are ours.
"""

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from records import brokers, configs, control, partitions, security, topics
from records.base import Record
from records.metadata_versions import (
    CORDONED_LOG_DIRS_LEVEL,
    NEWEST_PRODUCTION_LEVEL,
    UNREGISTER_CONTROLLER_LEVEL,
)
from records.metadata_versions import METADATA_VERSION as METADATA_VERSION
from replay.image.configs import NAMESPACE
from replay.image.metadata import MetadataImage
from replay.image.partitions import READ_WRITE

ELR_FEATURE = "eligible.leader.replicas.version"
NAMESPACE_FEATURE = "namespace.version"
MODE_FEATURE = "partition.mode.version"

# Level of a log without one: Kafka 3.0 wrote none.
METADATA_VERSION_OLDEST = 1
METADATA_VERSION_NEWEST = NEWEST_PRODUCTION_LEVEL

LEADER_RECOVERY_LEVEL = 3
REGISTRATION_CHANGE_LEVEL = 6
CONTROLLED_SHUTDOWN_LEVEL = 7
SCRAM_LEVEL = 11
NO_EPOCH_BUMP_ON_SHRINK_LEVEL = 12
TRANSACTIONS_LEVEL = 13
DELEGATION_TOKEN_LEVEL = 14
CONTROLLER_REGISTRATION_LEVEL = 15
DIRECTORIES_LEVEL = 17
ELR_LEVEL = 23
"""First metadata.version with eligible leader replicas; likewise for the constants above."""

SUPPORTED_LEVELS: Mapping[str, tuple[int, int]] = {
    METADATA_VERSION: (METADATA_VERSION_OLDEST, METADATA_VERSION_NEWEST),
    ELR_FEATURE: (0, 1),
    NAMESPACE_FEATURE: (0, 1),
    MODE_FEATURE: (0, 1),
}
"""Lowest and highest level of each feature that this release can write, inclusive."""

NEW_CLUSTER_LEVELS: Mapping[str, int] = {
    METADATA_VERSION: METADATA_VERSION_NEWEST,
    NAMESPACE_FEATURE: 1,
    MODE_FEATURE: 1,
}
"""Feature levels of a new log. Eligible leader replicas are off until an operator enables them."""

# Level from which each layout version is written, newest first.
_LAYOUTS: Mapping[type[Record], tuple[tuple[int, int], ...]] = {
    brokers.RegisterBrokerRecord: ((CORDONED_LOG_DIRS_LEVEL, 4), (17, 3), (8, 2), (7, 1)),
    partitions.PartitionRecord: ((23, 2), (17, 1)),
    partitions.PartitionChangeRecord: ((23, 2), (17, 1)),
}


def record_version(record: Record, metadata_version: int) -> int:
    """Return the layout version in which Kafka writes a record at a metadata.version."""
    if type(record) is brokers.BrokerRegistrationChangeRecord:
        # The oldest layout that can hold the values.
        if record.cordoned_log_dirs is not None:
            return 3
        return 2 if record.log_dirs else 1 if record.in_controlled_shutdown else 0
    return _layout(type(record), metadata_version)


def record_versions(records: Sequence[Record], metadata_version: int) -> list[int]:
    """Return the layout version of each record, like `record_version`."""
    types = set(map(type, records))
    if brokers.BrokerRegistrationChangeRecord in types:
        return [record_version(record, metadata_version) for record in records]
    of_type = {cls: _layout(cls, metadata_version) for cls in types}
    if len(of_type) == 1:
        return [*of_type.values()] * len(records)
    return [of_type[type(record)] for record in records]


@functools.cache
def _layout(cls: type[Record], metadata_version: int) -> int:
    for level, version in _LAYOUTS.get(cls, ()):
        if metadata_version >= level:
            return version
    return 0


_NAMESPACES, _MODES = (NAMESPACE_FEATURE, 1), (MODE_FEATURE, 1)
_CHANGES = (METADATA_VERSION, REGISTRATION_CHANGE_LEVEL)
_CORDONED = (METADATA_VERSION, CORDONED_LOG_DIRS_LEVEL)

_OF_TYPES: Mapping[type[Record], tuple[str, int]] = {
    topics.NamespaceRecord: _NAMESPACES,
    topics.RemoveNamespaceRecord: _NAMESPACES,
    topics.MoveTopicRecord: _NAMESPACES,
    partitions.DeleteTopicPartitionsRecord: _MODES,
    partitions.CancelDeleteTopicPartitionsRecord: _MODES,
    partitions.RemovePartitionsRecord: _MODES,
    partitions.ReplicaDeletionRecord: _MODES,
    partitions.ClearElrRecord: (METADATA_VERSION, ELR_LEVEL),
    brokers.RegisterControllerRecord: (METADATA_VERSION, CONTROLLER_REGISTRATION_LEVEL),
    brokers.UnregisterControllerRecord: (METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL),
    security.UserScramCredentialRecord: (METADATA_VERSION, SCRAM_LEVEL),
    security.RemoveUserScramCredentialRecord: (METADATA_VERSION, SCRAM_LEVEL),
    security.DelegationTokenRecord: (METADATA_VERSION, DELEGATION_TOKEN_LEVEL),
    security.RemoveDelegationTokenRecord: (METADATA_VERSION, DELEGATION_TOKEN_LEVEL),
    control.BeginTransactionRecord: (METADATA_VERSION, TRANSACTIONS_LEVEL),
    control.EndTransactionRecord: (METADATA_VERSION, TRANSACTIONS_LEVEL),
    control.AbortTransactionRecord: (METADATA_VERSION, TRANSACTIONS_LEVEL),
}


_Need = tuple[str, int] | None

# The most that a record of the type can need, and what one needs by its values.
_OF_VALUES: Mapping[type[Record], tuple[tuple[str, int], Callable[[Any], _Need]]] = {
    topics.TopicRecord: (
        _NAMESPACES,
        lambda topic: None if topic.namespace_id is None else _NAMESPACES,
    ),
    configs.ConfigRecord: (
        _NAMESPACES,
        lambda config: _NAMESPACES if config.resource_type == NAMESPACE else None,
    ),
    security.AccessControlEntryRecord: (
        _NAMESPACES,
        lambda acl: _NAMESPACES if acl.resource_type == NAMESPACE else None,
    ),
    brokers.RegisterBrokerRecord: (
        _CORDONED,
        lambda broker: None if broker.cordoned_log_dirs is None else _CORDONED,
    ),
    brokers.BrokerRegistrationChangeRecord: (
        _CORDONED,
        lambda change: _CHANGES if change.cordoned_log_dirs is None else _CORDONED,
    ),
    partitions.PartitionRecord: (
        _MODES,
        lambda new: None if new.mode == READ_WRITE else _MODES,
    ),
    partitions.PartitionChangeRecord: (
        _MODES,
        lambda change: None if change.mode is None else _MODES,
    ),
}


_AT_MOST = {**_OF_TYPES, **{cls: most for cls, (most, _) in _OF_VALUES.items()}}


def needed_level(record: Record) -> tuple[str, int] | None:
    """Return the feature and the level that a record needs; None if it is allowed at any level."""
    of_values = _OF_VALUES.get(type(record))
    return _OF_TYPES.get(type(record)) if of_values is None else of_values[1](record)


def _is_missing(levels: Mapping[str, int], name: str, level: int) -> bool:
    lowest = METADATA_VERSION_OLDEST if name == METADATA_VERSION else 0
    return (levels.get(name) or lowest) < level


def _may_miss(levels: Mapping[str, int], types: Set[type[Record]]) -> bool:
    """True if records of the given types have to be examined one by one.

    This is so if a record of such a type may need a level above `levels`, or may change the levels.
    """
    needs = [_AT_MOST[cls] for cls in types if cls in _AT_MOST]
    return configs.FeatureLevelRecord in types or any(_is_missing(levels, *need) for need in needs)


def first_missing_level(
    levels: Mapping[str, int], records: Sequence[Record], types: Set[type[Record]]
) -> tuple[int, str, int] | None:
    """Return index, feature and level of the first record whose needed level is not finalized.

    Args:
        levels: The levels before the records; the records can change them.
        types: The types of all records.
    """
    if not _may_miss(levels, types):
        return None
    levels = dict(levels)
    for index, record in enumerate(records):
        needed = needed_level(record)
        if needed is not None and _is_missing(levels, *needed):
            return (index, *needed)
        if type(record) is configs.FeatureLevelRecord:
            levels[record.name] = record.feature_level
    return None


def feature_in_use(image: MetadataImage, name: str) -> bool:
    """True if an image contains objects that need a feature of our own (not of Kafka)."""
    if name == NAMESPACE_FEATURE:
        return any(True for _ in image.namespaces()) or any(
            acl.resource_type == NAMESPACE for acl in image.acls()
        )
    if name == MODE_FEATURE:
        return any(True for _ in image.pending_removals()) or any(
            True for _ in image.replica_deletions()
        )
    return False
