"""The list of record types: class, schema, Kafka key, newest version.

The order of `RECORD_TYPES` is the order of the payload union in every segment's schema. New types
are added at the end, so that the encoded bytes of the other types do not change.
"""

import functools
import json
import pkgutil
from collections.abc import Sequence
from typing import Any

from records import brokers, configs, control, partitions, security, topics
from records.base import Record

RECORD_TYPES: tuple[type[Record], ...] = (
    brokers.RegisterBrokerRecord,
    brokers.UnregisterBrokerRecord,
    topics.TopicRecord,
    partitions.PartitionRecord,
    configs.ConfigRecord,
    partitions.PartitionChangeRecord,
    brokers.FenceBrokerRecord,
    brokers.UnfenceBrokerRecord,
    topics.RemoveTopicRecord,
    security.DelegationTokenRecord,
    security.UserScramCredentialRecord,
    configs.FeatureLevelRecord,
    configs.ClientQuotaRecord,
    configs.ProducerIdsRecord,
    brokers.BrokerRegistrationChangeRecord,
    security.AccessControlEntryRecord,
    security.RemoveAccessControlEntryRecord,
    control.NoOpRecord,
    configs.ZkMigrationStateRecord,
    security.RemoveUserScramCredentialRecord,
    control.BeginTransactionRecord,
    control.EndTransactionRecord,
    control.AbortTransactionRecord,
    security.RemoveDelegationTokenRecord,
    brokers.RegisterControllerRecord,
    partitions.ClearElrRecord,
    control.LeaderChangeMessage,
    control.SnapshotHeaderRecord,
    control.SnapshotFooterRecord,
    control.KRaftVersionRecord,
    control.VotersRecord,
    topics.NamespaceRecord,
    topics.RemoveNamespaceRecord,
    topics.MoveTopicRecord,
    partitions.DeleteTopicPartitionsRecord,
    partitions.CancelDeleteTopicPartitionsRecord,
    partitions.RemovePartitionsRecord,
    partitions.ReplicaDeletionRecord,
    control.NoteRecord,
    control.NoOpRunRecord,
    control.UnknownRecord,
    brokers.UnregisterControllerRecord,
)

BY_NAME: dict[str, type[Record]] = {cls.__name__: cls for cls in RECORD_TYPES}

CONTROL_TYPES: frozenset[type[Record]] = frozenset(
    {
        control.LeaderChangeMessage,
        control.SnapshotHeaderRecord,
        control.SnapshotFooterRecord,
        control.KRaftVersionRecord,
        control.VotersRecord,
    }
)
"""Kafka's control records: about the log itself, never the cluster's state."""


def is_control(record: Record) -> bool:
    """True if a record belongs in a control batch."""
    if type(record) is control.UnknownRecord:
        return record.control_key is not None
    return type(record) in CONTROL_TYPES


@functools.cache
def types_with(field: str) -> frozenset[type[Record]]:
    """Return the record types that have a field of the given name."""
    return frozenset(cls for cls in RECORD_TYPES if field in cls.__struct_fields__)


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Return the Avro schema of one record type, with `doc` and Kafka's layout (`kafka`)."""
    # Not importlib.resources: importing that takes a tenth of a short command.
    text = pkgutil.get_data("records", f"schemas/{name}.avsc")
    assert text is not None, "the loader of this package can read its files"
    parsed: dict[str, Any] = json.loads(text)
    return parsed


@functools.cache
def newest_version(cls: type[Record]) -> int:
    """Return the newest layout version of a record type; 0 for types that Kafka lacks.

    Raises:
        TypeError: `cls` is not a record type.
    """
    if BY_NAME.get(cls.__name__) is not cls:
        raise TypeError(f"{cls.__name__} is not a record type")
    versions: str = schema(cls.__name__).get("kafka", {}).get("versions", "0")
    return int(versions.rpartition("-")[2])


def newest_versions(records: Sequence[Record]) -> list[int]:
    """Return the newest layout version of each record.

    Raises:
        TypeError: an element is not a record.
    """
    return [newest_version(type(record)) for record in records]
