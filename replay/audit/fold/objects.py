"""The objects of the state except partitions, computed by applying records in order."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.audit.fold.topic_names import TOPIC_RESOURCE, Fields, TopicNames

_REPLICA_GONE = 7
FOR_EVER = 2**63 - 1

BEGIN, END, ABORT = "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"
CONTROL = ("KRaftVersionRecord", "VotersRecord")
"""Record types of the quorum; they take effect even inside an aborted transaction."""


@dataclass(frozen=True)
class Word:
    """Meaning of a record type whose records each set or remove a whole object.

    Attributes:
        part: The part of the state that the record belongs to.
        key: Fields that make up the object's key.
        is_kept: True if the record sets the object, false if it removes the object.
    """

    part: str
    key: tuple[str, ...]
    is_kept: Callable[[Fields], bool] = lambda _: True


def _gone(_: Fields) -> bool:
    return False


_CONFIG_KEY = ("resource_type", "resource_name", "name")

WORDS = {
    "AccessControlEntryRecord": Word("acls", ("id",)),
    "RemoveAccessControlEntryRecord": Word("acls", ("id",), _gone),
    "ClientQuotaRecord": Word("client_quotas", ("key", "entity"), lambda r: not r["remove"]),
    "ConfigRecord": Word("configs", _CONFIG_KEY, lambda r: "value" in r),
    "RegisterControllerRecord": Word("controllers", ("controller_id",)),
    "UnregisterControllerRecord": Word("controllers", ("controller_id",), _gone),
    "DelegationTokenRecord": Word("delegation_tokens", ("token_id",)),
    "RemoveDelegationTokenRecord": Word("delegation_tokens", ("token_id",), _gone),
    "FeatureLevelRecord": Word("features", ("name",), lambda r: r["feature_level"] != 0),
    "KRaftVersionRecord": Word("kraft_version", ()),
    "NamespaceRecord": Word("namespaces", ("namespace_id",)),
    "RemoveNamespaceRecord": Word("namespaces", ("namespace_id",), _gone),
    "NoteRecord": Word("notes", ("at_offset", "author", "text")),
    "ProducerIdsRecord": Word("producer_ids", ()),
    "ReplicaDeletionRecord": Word(
        "replica_deletions",
        ("topic_id", "partition_id", "broker_id"),
        lambda r: r["state"] != _REPLICA_GONE,
    ),
    "UserScramCredentialRecord": Word("scram", ("name", "mechanism")),
    "RemoveUserScramCredentialRecord": Word("scram", ("name", "mechanism"), _gone),
    "TopicRecord": Word("topics", ("topic_id",)),
    "MoveTopicRecord": Word("topics", ("topic_id",)),
    "RemoveTopicRecord": Word("topics", ("topic_id",), _gone),
    "ZkMigrationStateRecord": Word("zk_migration", ()),
}


PARTS = frozenset(word.part for word in WORDS.values()) | {
    *("brokers", "pending_partition_removals", "voters"),
}
"""Names of the parts, as in docs/digest.md."""


@dataclass
class Ends:
    """Positions at which other records removed partitions or cleared their ELR.

    Attributes:
        removed_topics: By topic id, the position of the topic's last removal.
        removed_partitions: By topic id and partition id, the position of the partition's last
            removal.
        cleared: By topic id, the last position where the eligible leader replicas (ELR) of the
            topic's partitions were cleared.
        cleared_everywhere: The last position where the ELR of all topics was cleared; None if
            never.
    """

    removed_topics: dict[str, int] = field(default_factory=dict)
    removed_partitions: dict[str, dict[int, int]] = field(default_factory=dict)
    cleared: dict[str, int] = field(default_factory=dict)
    cleared_everywhere: int | None = None


class Objects:
    """The objects of all parts except partitions, while records are applied in order.

    Records are as Spark writes them in JSON: null fields are absent, bytes are base64.

    Attributes:
        ends: The removals of partitions and clearings of their ELR in the applied records.
        undone: The first and the last position of each aborted or still open transaction.
        names: The names of topics.
    """

    def __init__(self) -> None:
        self.ends = Ends()
        self.undone: list[tuple[int, int]] = []
        self._parts: dict[str, dict[Any, Fields]] = {word.part: {} for word in WORDS.values()}
        self._brokers: dict[int, Fields] = {}
        self._removals: dict[str, dict[int, Fields]] = {}
        self._voters: list[Fields] = []
        self.names = TopicNames()

    def apply_all(self, records: Iterable[tuple[int, str, Fields]]) -> None:
        """Apply the records of a history: position, type and fields of each, in order.

        The records of a transaction take effect at its end.
        """
        open_: list[tuple[int, str, Fields]] = []
        begun: int | None = None
        for position, name, fields in records:
            if name in (BEGIN, END, ABORT):
                for each in open_:
                    if name == END or each[1] in CONTROL:
                        self._apply(*each)
                if begun is not None and name != END:
                    self.undone.append((begun, position))
                open_, begun = [], position if name == BEGIN else None
            elif begun is None:
                self._apply(position, name, fields)
            else:
                open_.append((position, name, fields))
        if begun is not None:
            self.undone.append((begun, FOR_EVER))

    def objects(self) -> Iterator[tuple[str, Fields]]:
        """Yield each object, as its part's name and its fields."""
        for part, objects in self._parts.items():
            for each in objects.values():
                yield part, each
        for config in self.names.configs():
            yield "configs", config
        for broker in self._brokers.values():
            yield "brokers", broker
        for topic_id, removals in self._removals.items():
            for partition_id, removal in removals.items():
                key = {"topic_id": topic_id, "partition_id": partition_id}
                yield "pending_partition_removals", key | removal
        for voter in self._voters:
            yield "voters", voter

    def _apply(self, position: int, name: str, record: Fields) -> None:
        if name in _APPLIED:
            _APPLIED[name](self, position, record)
        if name in WORDS and not (name == "ConfigRecord" and _is_of_topic(record)):
            word = WORDS[name]
            objects, key = self._parts[word.part], tuple(_hashable(record.get(k)) for k in word.key)
            if word.is_kept(record):
                objects[key] = record
            else:
                objects.pop(key, None)

    def _name_space(self, _: int, record: Fields) -> None:
        self.names.name_space(record)

    def _place(self, _: int, record: Fields) -> None:
        self.names.place(record)

    def _remove_topic(self, position: int, record: Fields) -> None:
        topic_id = record["topic_id"]
        self.names.remove(topic_id)
        self._removals.pop(topic_id, None)
        self.ends.removed_topics[topic_id] = position

    def _set_config(self, _: int, record: Fields) -> None:
        if _is_of_topic(record):
            self.names.set_config(record)

    def _begin_removal(self, _: int, record: Fields) -> None:
        removal = {name: record[name] for name in ("delay_ms", "create_time_ms")}
        of_topic = self._removals.setdefault(record["topic_id"], {})
        of_topic.update(dict.fromkeys(record["partition_ids"], removal))

    def _cancel_removal(self, _: int, record: Fields) -> None:
        for partition_id in record["partition_ids"]:
            self._removals.get(record["topic_id"], {}).pop(partition_id, None)

    def _remove_partitions(self, position: int, record: Fields) -> None:
        self._cancel_removal(position, record)
        of_topic = self.ends.removed_partitions.setdefault(record["topic_id"], {})
        of_topic.update(dict.fromkeys(record["partition_ids"], position))

    def _clear_elr(self, position: int, record: Fields) -> None:
        name = record["topic_name"]
        if not name:
            self.ends.cleared_everywhere = position
        elif (topic_id := self.names.holder_in_default(name)) is not None:
            self.ends.cleared[topic_id] = position

    def _register_broker(self, _: int, record: Fields) -> None:
        self._brokers[record["broker_id"]] = {"cordoned_log_dirs": [], **record}

    def _unregister_broker(self, _: int, record: Fields) -> None:
        self._brokers.pop(record["broker_id"], None)

    def _fence(self, _: int, record: Fields) -> None:
        self._change_broker(record["id"], fenced=True)

    def _unfence(self, _: int, record: Fields) -> None:
        self._change_broker(record["id"], fenced=False)

    def _change_registration(self, _: int, record: Fields) -> None:
        changed: Fields = {}
        if record["fenced"] in (1, -1):
            changed["fenced"] = record["fenced"] == 1
        if record["in_controlled_shutdown"] == 1:
            changed["in_controlled_shutdown"] = True
        if record.get("log_dirs"):
            changed["log_dirs"] = record["log_dirs"]
        if "cordoned_log_dirs" in record:
            changed["cordoned_log_dirs"] = record["cordoned_log_dirs"]
        self._change_broker(record["broker_id"], **changed)

    def _change_broker(self, broker_id: int, **changed: Any) -> None:
        # Only a log that contradicts itself changes a broker that is not registered.
        self._brokers.get(broker_id, {}).update(changed)

    def _set_voters(self, _: int, record: Fields) -> None:
        self._voters = record.get("voters", [])


_APPLIED: dict[str, Callable[[Objects, int, Fields], None]] = {
    "BrokerRegistrationChangeRecord": Objects._change_registration,
    "CancelDeleteTopicPartitionsRecord": Objects._cancel_removal,
    "ClearElrRecord": Objects._clear_elr,
    "ConfigRecord": Objects._set_config,
    "DeleteTopicPartitionsRecord": Objects._begin_removal,
    "FenceBrokerRecord": Objects._fence,
    "MoveTopicRecord": Objects._place,
    "NamespaceRecord": Objects._name_space,
    "RegisterBrokerRecord": Objects._register_broker,
    "RemovePartitionsRecord": Objects._remove_partitions,
    "RemoveTopicRecord": Objects._remove_topic,
    "TopicRecord": Objects._place,
    "UnfenceBrokerRecord": Objects._unfence,
    "UnregisterBrokerRecord": Objects._unregister_broker,
    "VotersRecord": Objects._set_voters,
}


def _is_of_topic(config: Fields) -> bool:
    return bool(config["resource_type"] == TOPIC_RESOURCE)


def _hashable(value: Any) -> Any:
    """Return a field of a key in hashable form; the list of a quota's entity becomes a set."""
    if isinstance(value, list):
        return frozenset((each["entity_type"], each.get("entity_name")) for each in value)
    return value
