"""Finds the first record that contradicts the state before it, by applying records in order.

Applies the same rules as `replay/audit/contradictions.py`, which uses SQL in many Spark tasks.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from replay.audit.fold.said import Said
from replay.audit.fold.texts import id_text
from replay.audit.fold.topic_names import Fields


class Contradiction(NamedTuple):
    """A record that contradicts the state before it."""

    position: int
    timestamp: int
    record: str
    object: str
    what: str


class Partition(NamedTuple):
    """A record of a partition: a PartitionRecord if `is_whole`, else a PartitionChangeRecord."""

    position: int
    timestamp: int
    topic_id: str
    partition_id: int
    is_whole: bool

    @property
    def name(self) -> str:
        """The record's type."""
        return "PartitionRecord" if self.is_whole else "PartitionChangeRecord"


class _Rule(NamedTuple):
    """Effect of a record on its object, given by kind and key; `epoch` names the epoch's field."""

    kind: str
    key: Callable[[Fields], str]
    makes: bool = False
    ends: bool = False
    is_checked: bool = True
    epoch: str | None = None


def _broker(record: Fields) -> str:
    return str(record["broker_id"] if "broker_id" in record else record["id"])


def _topic(record: Fields) -> str:
    return id_text(record["topic_id"])


def _acl(record: Fields) -> str:
    return id_text(record["id"])


def _scram(record: Fields) -> str:
    return f"{record['name']}/{record['mechanism']}"


def _token(record: Fields) -> str:
    # A token's id is a secret; a hash distinguishes tokens.
    return hashlib.sha256(record["token_id"].encode()).hexdigest()[:16]


_RULES = {
    "RegisterBrokerRecord": _Rule("broker", _broker, True, is_checked=False, epoch="broker_epoch"),
    "UnregisterBrokerRecord": _Rule("broker", _broker, ends=True, epoch="broker_epoch"),
    "FenceBrokerRecord": _Rule("broker", _broker, epoch="epoch"),
    "UnfenceBrokerRecord": _Rule("broker", _broker, epoch="epoch"),
    "BrokerRegistrationChangeRecord": _Rule("broker", _broker, epoch="broker_epoch"),
    "TopicRecord": _Rule("topic", _topic, True),
    "RemoveTopicRecord": _Rule("topic", _topic, ends=True),
    "AccessControlEntryRecord": _Rule("acl", _acl, True, is_checked=False),
    "RemoveAccessControlEntryRecord": _Rule("acl", _acl, ends=True),
    "UserScramCredentialRecord": _Rule("scram", _scram, True, is_checked=False),
    "RemoveUserScramCredentialRecord": _Rule("scram", _scram, ends=True),
    "DelegationTokenRecord": _Rule("token", _token, True, is_checked=False),
    "RemoveDelegationTokenRecord": _Rule("token", _token, ends=True),
}
"""Rules by record type.

A record with `makes` and `is_checked` contradicts an existing object. A record without `makes`
needs an existing object with the same epoch.
"""


class _State:
    """The objects that exist, while records in effect are applied in order."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[str, str], int | None] = {}
        self._born: dict[str, int] = {}
        self._partitions: set[tuple[str, int, int]] = set()
        self._names: dict[str, str] = {}
        self._holders: dict[str, str | None] = {}
        self._spaces: dict[str, str] = {}
        self._next_producer_id = -1

    def apply(self, said: Said) -> Iterator[tuple[str, str]]:
        """Apply a record; yield each object that the record contradicts, with the reason."""
        name, fields = said.name, said.fields
        if name in _RULES:
            yield from self._apply_rule(_RULES[name], fields)
        if name == "NamespaceRecord":
            self._spaces[id_text(fields["namespace_id"])] = fields["name"]
        if name in ("TopicRecord", "MoveTopicRecord"):
            yield from self._take_name(fields)
        if name == "TopicRecord":
            self._born[_topic(fields)] = said.position
        if name == "RemoveTopicRecord":
            self._leave_name(_topic(fields))
            self._born.pop(_topic(fields), None)
        if name == "ProducerIdsRecord":
            following = fields["next_producer_id"]
            if following < self._next_producer_id:
                what = f"the next id {following} is below {self._next_producer_id}"
                yield "producer_ids", what
            self._next_producer_id = following

    def apply_partition(self, record: Partition) -> Iterator[tuple[str, str]]:
        """Apply a partition's record; if it contradicts the state, yield partition and reason."""
        object_ = f"partition:@{record.topic_id}/{record.partition_id}"
        born = self._born.get(record.topic_id)
        if born is None:
            yield object_, "its topic does not exist"
            return
        key = (record.topic_id, born, record.partition_id)
        if record.is_whole:
            self._partitions.add(key)
        elif key not in self._partitions:
            yield object_, "it does not exist"

    def _apply_rule(self, rule: _Rule, fields: Fields) -> Iterator[tuple[str, str]]:
        key = (rule.kind, rule.key(fields))
        epoch = None if rule.epoch is None else fields[rule.epoch]
        is_there = key in self._epochs
        if rule.makes:
            if is_there and rule.is_checked:
                yield ":".join(key), "it exists"
        elif not is_there:
            yield ":".join(key), "it does not exist"
        elif self._epochs[key] != epoch:
            yield ":".join(key), f"its epoch is {self._epochs[key]}, not {epoch}"
        if rule.makes:
            self._epochs[key] = epoch
        elif rule.ends:
            self._epochs.pop(key, None)

    def _take_name(self, fields: Fields) -> Iterator[tuple[str, str]]:
        topic_id, space_id = _topic(fields), fields.get("namespace_id")
        space = self._spaces.get(id_text(space_id)) if space_id else None
        name = fields["name"] if space is None else f"{space}:{fields['name']}"
        self._leave_name(topic_id)
        if self._holders.get(name) is not None:
            yield f"topic:{name}", "another topic has this name"
        self._names[topic_id] = name
        self._holders[name] = topic_id

    def _leave_name(self, topic_id: str) -> None:
        name = self._names.pop(topic_id, None)
        if name is not None:
            self._holders[name] = None


def first_contradiction(
    records: Iterable[Said | Partition], replayed_from: int
) -> Contradiction | None:
    """Return the first of some records that contradicts the state before it; None if none does.

    Args:
        records: The records in effect, in order. All records of a base have the same position;
            those that other records need come first.
        replayed_from: The first offset after the base; earlier records are not checked.
    """
    state = _State()
    for each in records:
        found = list(
            state.apply_partition(each) if isinstance(each, Partition) else state.apply(each)
        )
        if found and each.position >= replayed_from:
            object_, what = min(found, key=lambda pair: pair[1])
            return Contradiction(each.position, each.timestamp, each.name, object_, what)
    return None


def misplaced_marker(markers: Iterable[Said]) -> Contradiction | None:
    """Return the first begin marker inside a transaction, or end or abort marker outside of one."""
    is_open = False
    for said in markers:
        is_begin = said.name == "BeginTransactionRecord"
        if is_open == is_begin:
            what = f"{'inside' if is_begin else 'outside'} a transaction"
            return Contradiction(said.position, said.timestamp, said.name, "transaction", what)
        is_open = not is_open
    return None
