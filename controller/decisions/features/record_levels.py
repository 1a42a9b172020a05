"""Minimum feature level of each record.

A record may be written only if that level is finalized, because nodes of an older release, which
support only lower levels, cannot read it.

Source: MetadataVersion of Kafka 4.0 and of 2026; the features of namespaces and partition modes are
ours.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from controller.decisions.levels import (
    CONTROLLER_REGISTRATION_LEVEL,
    DELEGATION_TOKEN_LEVEL,
    ELR_LEVEL,
    METADATA_VERSION,
    METADATA_VERSION_OLDEST,
    MODE_FEATURE,
    NAMESPACE_FEATURE,
    REGISTRATION_CHANGE_LEVEL,
    SCRAM_LEVEL,
    TRANSACTIONS_LEVEL,
)
from records import brokers, configs, control, partitions, security, topics
from records.base import Record
from records.metadata_versions import CORDONED_LOG_DIRS_LEVEL, UNREGISTER_CONTROLLER_LEVEL
from replay.image.configs import NAMESPACE
from replay.image.metadata import MetadataImage
from replay.image.partitions import READ_WRITE

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
