"""Parts of the state in which the last record with a key contains the whole object of that key."""

import re
from collections.abc import Set
from dataclasses import dataclass

from pyspark.sql import DataFrame

from replay.audit.history import History

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

PARTS = frozenset(word.part for word in WORDS.values())

_PLACE = """
    struct(coalesce(TopicRecord.topic_id, MoveTopicRecord.topic_id) AS topic_id,
           coalesce(TopicRecord.name, MoveTopicRecord.name) AS name,
           coalesce(TopicRecord.namespace_id, MoveTopicRecord.namespace_id) AS namespace_id)
"""


def follow_topics(history: History) -> bool:
    """True if configs must be assigned by topic id, because a topic was renamed or removed."""
    return history.has("RemoveTopicRecord", "MoveTopicRecord")


def last_words(history: History, parts: Set[str]) -> DataFrame:
    """Return the objects of some parts, each from the last record with its key.

    If `follow_topics` is true, topic configs are left out; configs.py returns them.

    Returns:
        One row per object, with a column per part: the object as a struct in its part's column,
        null in the others.
    """
    spoken = [name for name, word in WORDS.items() if word.part in parts]
    setting = [name for name in spoken if WORDS[name].kept != "false"]
    of_topic = f"coalesce(ConfigRecord.resource_type = {TOPIC_RESOURCE}, false)"
    left_out = of_topic if follow_topics(history) else "false"
    return history.sql(f"""
        SELECT {", ".join(f"{_object(part)} AS {part}" for part in sorted(parts))}
        FROM (SELECT last.*
              FROM (SELECT max_by(struct(word.kept, {", ".join(setting)}), position) AS last
                    FROM (SELECT *, CASE {" ".join(map(_when, spoken))} END AS word FROM {{rare}})
                    WHERE word IS NOT NULL AND NOT {left_out}
                    GROUP BY word.part, word.key)
              WHERE last.kept)
    """)


def _when(name: str) -> str:
    word = WORDS[name]
    key = ", ".join(f"CAST({part} AS string)" for part in word.key)
    said = f"struct('{word.part}' AS part, array({key}) AS key, {word.kept} AS kept)"
    return f"WHEN {name} IS NOT NULL THEN " + re.sub(r"\br\.", f"{name}.", said)


def _object(part: str) -> str:
    if part == "topics":
        return f"CASE WHEN TopicRecord IS NOT NULL OR MoveTopicRecord IS NOT NULL THEN {_PLACE} END"
    (record,) = (name for name, word in WORDS.items() if word.part == part and word.kept != "false")
    return record
