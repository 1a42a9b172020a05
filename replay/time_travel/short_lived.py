"""Objects that were created and removed between two states, so that a diff of the states lacks
them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from metadata_log.format.batch import Batch
from records import brokers, configs, partitions, security, topics
from records.base import Record, Uuid
from records.text import uuid_text
from replay.image.configs import TOPIC
from replay.image.metadata import NAMESPACE_SEPARATOR, MetadataImage
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS, Key
from replay.time_travel.labels import escaped
from replay.transactions import Transactions, rows_within

RECORDS_MAX = 100_000
"""Maximum number of records that callers search for short-lived objects, to limit the time."""

_KINDS = frozenset(
    {
        *("topic", "partition", "namespace", "broker", "controller"),
        *("config", "acl", "quota", "scram", "token"),
    }
)

_ENDS: frozenset[type[Record]] = frozenset(
    {
        *(topics.RemoveTopicRecord, topics.RemoveNamespaceRecord),
        *(brokers.UnregisterBrokerRecord, brokers.UnregisterControllerRecord),
        *(security.RemoveAccessControlEntryRecord, security.RemoveUserScramCredentialRecord),
        *(security.RemoveDelegationTokenRecord, partitions.RemovePartitionsRecord),
    }
)

_BEGINS: frozenset[type[Record]] = frozenset(
    {
        *(topics.TopicRecord, topics.NamespaceRecord, partitions.PartitionRecord),
        *(brokers.RegisterBrokerRecord, brokers.RegisterControllerRecord),
        *(configs.ConfigRecord, configs.ClientQuotaRecord),
        *(security.AccessControlEntryRecord, security.UserScramCredentialRecord),
        security.DelegationTokenRecord,
    }
)


class Passed(msgspec.Struct, frozen=True):
    """A short-lived object: created by the record at `from_offset`, removed at `to_offset`."""

    object: str
    from_offset: int
    to_offset: int


class PassedObjects:
    """The objects that existed only between two images, found while the later one is replayed."""

    def __init__(self, old: MetadataImage, end_offset: int) -> None:
        """Start at the earlier image; records at or after `end_offset` are ignored."""
        self._old = old
        self._end_offset = end_offset
        self._transactions = Transactions()
        self._lives = _Lives(old)

    def follow(self, batch: Batch) -> None:
        """Record the objects that the next batch creates and removes.

        Raises:
            ContradictionError: a misplaced marker of a transaction; names the offset.
        """
        rows = rows_within(batch, self._old.provenance.next_offset, self._end_offset)
        for row in self._transactions.effective(rows):
            if type(row.payload) in _FOLLOWED:
                self._lives.follow(row.payload, row.offset)

    def passed(self, new: MetadataImage) -> list[Passed]:
        """Return the objects, ordered by kind and first record.

        Partitions and configs of a topic that is listed itself are left out, and so are configs
        that only moved with their topic.

        Args:
            new: The later image.
        """
        lives, old = self._lives, self._old
        passed = [
            each for each in lives.ended() if not _exists(old, *each) and not _exists(new, *each)
        ]
        gone = {key for kind, key in passed if kind == "topic"}
        names = {lives.names[topic_id] for topic_id in gone}
        order = list(KINDS)
        return sorted(
            (
                Passed(f"{kind}:{lives.label(kind, key)}", *lives.span(kind, key))
                for kind, key in passed
                if not (kind == "partition" and key[0] in gone)
                and not (kind == "config" and key[0] == TOPIC and key[1] in names)
            ),
            key=lambda each: (order.index(each.object.partition(":")[0]), each.from_offset),
        )


class _Lives:
    """Follows which objects the records of a range create and remove.

    Attributes:
        names: The full names of the topics that the range names or removes, by id.
    """

    def __init__(self, old: MetadataImage) -> None:
        self.names: dict[Uuid, str] = {}
        self._old = old
        self._namespaces: dict[Uuid, str] = {}
        self._begun: dict[tuple[str, Any], int] = {}
        self._ended: dict[tuple[str, Any], int] = {}
        # The names of the values that the range set, by resource.
        self._values: dict[tuple[int, str], set[str]] = {}
        self._partitions: dict[Uuid, dict[tuple[Uuid, int], None]] = {}

    def follow(self, record: Any, offset: int) -> None:
        """Record the object that a record creates or removes."""
        if isinstance(record, topics.MoveTopicRecord):
            self._move(record)
            return
        self._learn_name(record)
        is_end = type(record) in _ENDS or self._is_last(record)
        for each in self._reached(record):
            if not is_end:
                self._begun.setdefault(each, offset)
            elif each in self._begun:
                self._ended[each] = offset

    def _move(self, record: topics.MoveTopicRecord) -> None:
        """Record a topic's new name, and move its configs there."""
        old = TOPIC, self._topic_name(record.topic_id)
        self._learn_name(record)
        new = TOPIC, self.names[record.topic_id]
        if old != new and self._values.get(old):
            self._values[new] = self._values.pop(old)
            for offsets in (self._begun, self._ended):
                if ("config", old) in offsets:
                    offsets["config", new] = offsets.pop(("config", old))

    def _is_last(self, record: Any) -> bool:
        """Note a record; return True if it removes a quota, or a resource's last config."""
        if isinstance(record, configs.ConfigRecord):
            names = self._values.setdefault((record.resource_type, record.resource_name), set())
            if record.value is not None:
                names.add(record.name)
                return False
            names.discard(record.name)
            return not names
        return isinstance(record, configs.ClientQuotaRecord) and record.remove

    def ended(self) -> Iterator[tuple[str, Any]]:
        """Yield kind and key of each object created and later removed (perhaps created again)."""
        return iter(self._ended)

    def span(self, kind: str, key: Key) -> tuple[int, int]:
        """Return the offsets at which an object was first created and last removed."""
        return self._begun[kind, key], self._ended[kind, key]

    def label(self, kind: str, key: Any) -> str:
        """Return an object's name without its kind."""
        if kind == "topic":
            return escaped(self.names[key])
        if kind == "partition":
            return f"{escaped(self._topic_name(key[0]))}/{key[1]}"
        if kind == "namespace":
            return escaped(self._namespaces[key])
        return KINDS[kind].label(MetadataImage.EMPTY, key)

    def _learn_name(self, record: Any) -> None:
        match record:
            case topics.TopicRecord() | topics.MoveTopicRecord():
                namespace_id = record.namespace_id
                of = () if namespace_id is None else (self._namespace_name(namespace_id),)
                self.names[record.topic_id] = NAMESPACE_SEPARATOR.join((*of, record.name))
            case topics.NamespaceRecord():
                self._namespaces[record.namespace_id] = record.name

    def _reached(self, record: Any) -> Iterator[tuple[str, Any]]:
        for kind, keys in AFFECTED[type(record)].items():
            if kind in _KINDS:
                for key in keys(record, MetadataImage.EMPTY):
                    if kind != "topic" or not isinstance(record, _OF_A_TOPIC):
                        yield kind, key
        if isinstance(record, partitions.PartitionRecord):
            key = record.topic_id, record.partition_id
            self._partitions.setdefault(record.topic_id, {})[key] = None
        elif isinstance(record, partitions.RemovePartitionsRecord):
            for number in record.partition_ids:
                self._partitions.get(record.topic_id, {}).pop((record.topic_id, number), None)
        elif isinstance(record, topics.RemoveTopicRecord):
            resource = TOPIC, self._topic_name(record.topic_id)
            if self._values.pop(resource, None):
                yield "config", resource
            yield from (("partition", key) for key in self._partitions.get(record.topic_id, ()))

    def _topic_name(self, topic_id: Uuid) -> str:
        if topic_id in self.names:
            return self.names[topic_id]
        topic = self._old.topic(topic_id)
        return f"@{uuid_text(topic_id)}" if topic is None else self._old.full_name(topic)

    def _namespace_name(self, namespace_id: Uuid) -> str:
        if namespace_id in self._namespaces:
            return self._namespaces[namespace_id]
        namespace = self._old.namespace(namespace_id)
        return f"@{uuid_text(namespace_id)}" if namespace is None else namespace.name


_FOLLOWED = _BEGINS | _ENDS | {topics.MoveTopicRecord}
_OF_A_TOPIC = partitions.PartitionRecord, partitions.RemovePartitionsRecord
"""The record types that touch a topic without creating or removing it."""


def _exists(image: MetadataImage, kind: str, key: Any) -> bool:
    return KINDS[kind].fields(image, key) is not None
