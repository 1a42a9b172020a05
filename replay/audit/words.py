"""Records that set or remove a whole object, in SQL, for the relation of changes.

fold/objects.py has the same for the state, written independently in Python.
"""

from dataclasses import dataclass

_REPLICA_GONE = 7
TOPIC_RESOURCE = 2


@dataclass(frozen=True)
class Word:
    """How to interpret a record type, in SQL over a column `r` that holds the record.

    Attributes:
        part: The part of the state that the record belongs to.
        key: Expressions that make up the object's key.
        kept: Condition: true if the record sets the object, false if it removes the object.
    """

    part: str
    key: tuple[str, ...]
    kept: str = "true"


_QUOTA_KEY = """
    to_json(transform(array_sort(array_distinct(r.entity)),
                      e -> array(e.entity_type, e.entity_name)))
"""
_CONFIG_KEY = ("r.resource_type", "r.resource_name", "r.name")

WORDS: dict[str, Word] = {
    "AccessControlEntryRecord": Word("acls", ("hex(r.id)",)),
    "RemoveAccessControlEntryRecord": Word("acls", ("hex(r.id)",), "false"),
    "ClientQuotaRecord": Word("client_quotas", ("r.key", _QUOTA_KEY), "NOT r.remove"),
    "ConfigRecord": Word("configs", _CONFIG_KEY, "r.value IS NOT NULL"),
    "RegisterControllerRecord": Word("controllers", ("r.controller_id",)),
    "UnregisterControllerRecord": Word("controllers", ("r.controller_id",), "false"),
    "DelegationTokenRecord": Word("delegation_tokens", ("r.token_id",)),
    "RemoveDelegationTokenRecord": Word("delegation_tokens", ("r.token_id",), "false"),
    "FeatureLevelRecord": Word("features", ("r.name",), "r.feature_level <> 0"),
    "KRaftVersionRecord": Word("kraft_version", ("''",)),
    "NamespaceRecord": Word("namespaces", ("hex(r.namespace_id)",)),
    "RemoveNamespaceRecord": Word("namespaces", ("hex(r.namespace_id)",), "false"),
    "NoteRecord": Word("notes", ("r.at_offset", "r.author", "r.text")),
    "ProducerIdsRecord": Word("producer_ids", ("''",)),
    "ReplicaDeletionRecord": Word(
        "replica_deletions",
        ("hex(r.topic_id)", "r.partition_id", "r.broker_id"),
        f"r.state <> {_REPLICA_GONE}",
    ),
    "UserScramCredentialRecord": Word("scram", ("r.name", "r.mechanism")),
    "RemoveUserScramCredentialRecord": Word("scram", ("r.name", "r.mechanism"), "false"),
    "TopicRecord": Word("topics", ("hex(r.topic_id)",)),
    "MoveTopicRecord": Word("topics", ("hex(r.topic_id)",)),
    "RemoveTopicRecord": Word("topics", ("hex(r.topic_id)",), "false"),
    "ZkMigrationStateRecord": Word("zk_migration", ("''",)),
}
