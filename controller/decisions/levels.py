"""Feature levels, and the record layout versions that each level uses.

Source: MetadataVersion of Kafka 4.0 and of 2026 (records/metadata_versions.py); KIP-584 (features),
KIP-778 (metadata.version).
"""

import functools
from collections.abc import Mapping, Sequence

from records.base import Record
from records.brokers import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from records.metadata_versions import CORDONED_LOG_DIRS_LEVEL, NEWEST_PRODUCTION_LEVEL
from records.metadata_versions import METADATA_VERSION as METADATA_VERSION
from records.partitions import PartitionChangeRecord, PartitionRecord

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
    RegisterBrokerRecord: ((CORDONED_LOG_DIRS_LEVEL, 4), (17, 3), (8, 2), (7, 1)),
    PartitionRecord: ((23, 2), (17, 1)),
    PartitionChangeRecord: ((23, 2), (17, 1)),
}


def record_version(record: Record, metadata_version: int) -> int:
    """Return the layout version in which Kafka writes a record at a metadata.version."""
    if type(record) is BrokerRegistrationChangeRecord:
        # The oldest layout that can hold the values.
        if record.cordoned_log_dirs is not None:
            return 3
        return 2 if record.log_dirs else 1 if record.in_controlled_shutdown else 0
    return _layout(type(record), metadata_version)


def record_versions(records: Sequence[Record], metadata_version: int) -> list[int]:
    """Return the layout version of each record, like `record_version`."""
    types = set(map(type, records))
    if BrokerRegistrationChangeRecord in types:
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
