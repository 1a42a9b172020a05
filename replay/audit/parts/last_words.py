"""Parts in which the last record about a key is the whole state of the key."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from replay.audit.history import History

_REPLICA_GONE = 7
TOPIC_RESOURCE = 2


def _always(record: Column) -> Column:
    return F.lit(True)


def _never(record: Column) -> Column:
    return F.lit(False)


@dataclass(frozen=True)
class Word:
    """Meaning of a record type: its part, its key, and whether it sets or removes the key."""

    part: str
    key: Callable[[Column], list[Column]]
    kept: Callable[[Column], Column] = _always


def _quota_key(quota: Column) -> list[Column]:
    pairs = F.transform(
        F.array_sort(F.array_distinct(quota["entity"])),
        lambda part: F.array(part["entity_type"], part["entity_name"]),
    )
    return [quota["key"], F.to_json(pairs)]


WORDS: dict[str, Word] = {
    "AccessControlEntryRecord": Word("acls", lambda r: [F.hex(r["id"])]),
    "RemoveAccessControlEntryRecord": Word("acls", lambda r: [F.hex(r["id"])], _never),
    "ClientQuotaRecord": Word("client_quotas", _quota_key, lambda r: ~r["remove"]),
    "ConfigRecord": Word(
        "configs",
        lambda r: [r["resource_type"], r["resource_name"], r["name"]],
        lambda r: r["value"].isNotNull(),
    ),
    "RegisterControllerRecord": Word("controllers", lambda r: [r["controller_id"]]),
    "DelegationTokenRecord": Word("delegation_tokens", lambda r: [r["token_id"]]),
    "RemoveDelegationTokenRecord": Word("delegation_tokens", lambda r: [r["token_id"]], _never),
    "FeatureLevelRecord": Word(
        "features", lambda r: [r["name"]], lambda r: r["feature_level"] != 0
    ),
    "NamespaceRecord": Word("namespaces", lambda r: [F.hex(r["namespace_id"])]),
    "RemoveNamespaceRecord": Word("namespaces", lambda r: [F.hex(r["namespace_id"])], _never),
    "NoteRecord": Word("notes", lambda r: [r["at_offset"], r["author"], r["text"]]),
    "ProducerIdsRecord": Word("producer_ids", lambda r: []),
    "ReplicaDeletionRecord": Word(
        "replica_deletions",
        lambda r: [F.hex(r["topic_id"]), r["partition_id"], r["broker_id"]],
        lambda r: r["state"] != _REPLICA_GONE,
    ),
    "UserScramCredentialRecord": Word("scram", lambda r: [r["name"], r["mechanism"]]),
    "RemoveUserScramCredentialRecord": Word("scram", lambda r: [r["name"], r["mechanism"]], _never),
    "TopicRecord": Word("topics", lambda r: [F.hex(r["topic_id"])]),
    "MoveTopicRecord": Word("topics", lambda r: [F.hex(r["topic_id"])]),
    "RemoveTopicRecord": Word("topics", lambda r: [F.hex(r["topic_id"])], _never),
    "ZkMigrationStateRecord": Word("zk_migration", lambda r: []),
}


def last_words(history: History) -> DataFrame:
    """Return the last record about each key of each part, unless it removed the key.

    Returns:
        (part string, and a struct for each record type in `WORDS` under its name, of which one is
        not null).
    """
    spoken = [name for name in WORDS if history.has(name)]
    # Topics' configs follow the topic, not its name; see configs.py.
    of_topic = F.coalesce(F.col("ConfigRecord.resource_type") == TOPIC_RESOURCE, F.lit(False))
    words = (
        history.rare.where(~of_topic)
        .select(
            "position",
            _by_type(spoken, lambda word, record: F.lit(word.part)).alias("part"),
            _by_type(spoken, lambda word, record: _key(word, record)).alias("key"),
            _by_type(spoken, lambda word, record: word.kept(record)).alias("kept"),
            *WORDS,
        )
        .where(F.col("part").isNotNull())
    )
    last = words.groupBy("part", "key").agg(
        F.max_by(F.struct("kept", *WORDS), "position").alias("last")
    )
    # Without any such record Spark has no type for the column.
    return last.where(F.col("last.kept").cast("boolean")).select(
        "part", *(f"last.{name}" for name in WORDS)
    )


def _by_type(names: list[str], value: Callable[[Word, Column], Column]) -> Column:
    cases = F.when(F.lit(False), None)
    for name in names:
        record = F.col(name)
        cases = cases.when(record.isNotNull(), value(WORDS[name], record))
    return cases


def _key(word: Word, record: Column) -> Column:
    return F.array(*(part.cast("string") for part in word.key(record))).cast("array<string>")


def of_type(name: str) -> Callable[[History], DataFrame]:
    """Return a function for the part that consists of the records of one type."""

    def part(history: History) -> DataFrame:
        words = history.kept(last_words)
        rows = words.where(F.col(name).isNotNull()).select(f"{name}.*")
        return rows if history.has(name) else rows.where(F.lit(False))

    return part
