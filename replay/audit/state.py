"""The state at an offset, computed in Spark alone: one frame per part.

docs/replay.md says what each record does. This is its second implementation; the first is
`replay/image`, of which nothing is used here.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame

from replay.audit.history import History
from replay.audit.parts.brokers import brokers
from replay.audit.parts.configs import configs
from replay.audit.parts.last_words import of_type
from replay.audit.parts.partitions import partitions
from replay.audit.parts.removals import pending_partition_removals
from replay.audit.parts.topics import topics

PARTS: dict[str, Callable[[History], DataFrame]] = {
    "acls": of_type("AccessControlEntryRecord"),
    "brokers": brokers,
    "client_quotas": of_type("ClientQuotaRecord"),
    "configs": configs,
    "controllers": of_type("RegisterControllerRecord"),
    "delegation_tokens": of_type("DelegationTokenRecord"),
    "features": of_type("FeatureLevelRecord"),
    "namespaces": of_type("NamespaceRecord"),
    "notes": of_type("NoteRecord"),
    "partitions": partitions,
    "pending_partition_removals": pending_partition_removals,
    "producer_ids": of_type("ProducerIdsRecord"),
    "replica_deletions": of_type("ReplicaDeletionRecord"),
    "scram": of_type("UserScramCredentialRecord"),
    "topics": topics,
    "zk_migration": of_type("ZkMigrationStateRecord"),
}
"""Each part by its name in docs/digest.md. A frame holds the part's fields under their own names
and in the records' types: ids and bytes are binary, lists are as written."""


def state(history: History) -> dict[str, DataFrame]:
    """Return the frames of all parts, lazily evaluated."""
    return {name: part(history) for name, part in PARTS.items()}
