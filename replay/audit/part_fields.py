"""The parts of the state: the records that they depend on, and their fields."""

from typing import Any

from records import registry
from replay.audit.fold.objects import PARTS as _OBJECT_PARTS

PARTS = _OBJECT_PARTS | {"partitions"}
"""Names of the parts, as in docs/digest.md."""

OF_PARTITIONS = frozenset(
    {
        *("BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"),
        *("TopicRecord", "MoveTopicRecord", "RemoveTopicRecord", "NamespaceRecord"),
        *("RemovePartitionsRecord", "ClearElrRecord"),
    }
)
"""Types of other records that partitions depend on; ClearElrRecord refers to topics by name."""

RECORDS = {
    "acls": "AccessControlEntryRecord",
    "brokers": "RegisterBrokerRecord",
    "client_quotas": "ClientQuotaRecord",
    "configs": "ConfigRecord",
    "controllers": "RegisterControllerRecord",
    "delegation_tokens": "DelegationTokenRecord",
    "features": "FeatureLevelRecord",
    "kraft_version": "KRaftVersionRecord",
    "namespaces": "NamespaceRecord",
    "notes": "NoteRecord",
    "pending_partition_removals": "DeleteTopicPartitionsRecord",
    "producer_ids": "ProducerIdsRecord",
    "replica_deletions": "ReplicaDeletionRecord",
    "scram": "UserScramCredentialRecord",
    "topics": "TopicRecord",
    "zk_migration": "ZkMigrationStateRecord",
}
"""By part, the record type whose fields are those of the part's objects."""

COLUMNS = {
    "brokers": (
        *("broker_id", "incarnation_id", "broker_epoch", "end_points", "features", "rack"),
        *("is_migrating_zk_broker", "fenced", "in_controlled_shutdown", "log_dirs"),
        "cordoned_log_dirs",
    ),
    "pending_partition_removals": ("topic_id", "partition_id", "delay_ms", "create_time_ms"),
    "topics": ("topic_id", "name", "namespace_id"),
}
"""The fields of a part, if they differ from the record's fields, or are in another order."""


def part_fields(name: str) -> list[dict[str, Any]]:
    """Return the Avro fields of a part's objects, in the order of its columns."""
    if name == "voters":
        (voters,) = (f for f in _fields("VotersRecord") if f["name"] == "voters")
        found: list[dict[str, Any]] = voters["type"]["items"]["fields"]
        return found
    fields = {field["name"]: field for field in _fields(RECORDS[name])}
    (partition_id,) = (f for f in _fields("PartitionRecord") if f["name"] == "partition_id")
    every = {"partition_id": partition_id, **fields}
    return [every[each] for each in COLUMNS.get(name, tuple(fields))]


def _fields(record: str) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = registry.schema(record)["fields"]
    return fields
