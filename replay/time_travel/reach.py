"""An object's reach: the rows that can affect it, and the byte strings that find their blocks.

Rows inside a transaction take effect only when the transaction ends, so BeginTransactionRecords are
always searched for.
"""

from collections.abc import Collection, Iterable
from typing import Protocol

from metadata_log.format.needles import Needles
from records.base import Uuid
from records.brokers import RegisterBrokerRecord
from records.configs import ConfigRecord
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.varint import LONGS
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.time_travel.affected import AFFECTED, types_reaching
from replay.time_travel.labels import config_resource, unescaped
from replay.time_travel.objects import ObjectName
from replay.time_travel.past_topics import Target
from replay.time_travel.topic_reach import DeletionReach, TopicConfigsReach, TopicReach

# How many numbers follow the topic in an object's name.
_NUMBERS = {"topic": 0, "partition": 1, "removal": 1}

# Kinds whose records neither need nor change objects of another kind. Those of the first two also
# need no other object of their kind.
_NUMBERED = frozenset({"broker", "controller"})
_ALONE = frozenset(
    {"namespace", "feature", "acl", "quota", "scram", "token", "note", "voter", "cluster"}
)


# The second field of a registration is a boolean.
_FLAGS = (b"\0", b"\1")


class Reach(Protocol):
    """The rows that can affect an object, and how to find their blocks."""

    @property
    def needles(self) -> Needles:
        """The byte strings to search for."""

    @property
    def ids(self) -> Collection[Uuid]:
        """Ids of the topics and namespaces that the object's name is known to depend on."""

    @property
    def target(self) -> Target | None:
        """The topic to search for; None for kinds of objects that depend on no topic."""

    @property
    def restarts(self) -> bool:
        """True if all rows must be read again when `add_missed` finds more objects."""

    @property
    def is_indexed(self) -> bool:
        """True if an index of changes contains all records that can affect the object."""

    def takes(self, row: Envelope) -> bool:
        """True if a row can affect the object. Must be called with all decoded rows, in order."""

    def add_missed(self) -> bool:
        """Add search strings for objects discovered after some of their records were skipped.

        Returns:
            True if there are any: the log must be read again.
        """


def reach_of(name: ObjectName) -> Reach | None:
    """Return which rows can affect an object, and the byte strings that find their blocks.

    None if no byte strings find all of these blocks.

    Raises:
        ValueError, OverflowError: the name is invalid for its kind.
    """
    kind = name.kind.name
    if kind in _NUMBERED:
        return _KindReach(kind, int(name.name))
    if kind in _ALONE:
        return _KindReach(kind)
    if kind == "config":
        return _configs_reach(name.name)
    if kind == "deletion":
        return _deletions_reach(name.name)
    numbers = _NUMBERS.get(kind)
    if numbers is None:
        return None
    topic, *number = name.name.rsplit("/", numbers) if numbers else [name.name]
    return TopicReach(topic, int(number[0]) if number else None)


def _configs_reach(name: str) -> Reach:
    resource_type, resource = config_resource(name)
    if resource_type == TOPIC:
        return TopicConfigsReach(resource)
    return _ResourceReach(resource_type, unescaped(resource))


def _deletions_reach(name: str) -> Reach:
    topic, number, _ = name.rsplit("/", 2)
    return DeletionReach(topic, int(number))


def reach_of_kind(kind: str) -> Reach:
    """Return which rows can affect any object of a kind that does not depend on other kinds."""
    assert kind in _ALONE, kind
    return _KindReach(kind)


class _KindReach:
    """Reach of objects of a kind that does not depend on others: the records of certain types."""

    ids: Collection[Uuid] = ()
    target = None
    restarts = False
    is_indexed = True

    def __init__(
        self, kind: str, number: int | None = None, needles: Needles | None = None
    ) -> None:
        """Search for the records of a kind.

        Args:
            number: Id of the only object to search for; its records begin with this id. None:
                search for all objects.
            needles: Needles to extend; None: create new ones.

        Raises:
            OverflowError: the id is too large.
        """
        self._kind, self._number = kind, number
        self._types = types_reaching(kind)
        self.needles = Needles() if needles is None else needles
        self.needles.add_type(BeginTransactionRecord)
        beginning = b"" if number is None else LONGS[number]
        for record_type in self._types:
            is_flagged = number is not None and record_type is RegisterBrokerRecord
            for flag in _FLAGS if is_flagged else (b"",):
                self.needles.add_type(record_type, beginning + flag)

    def takes(self, row: Envelope) -> bool:
        record = row.payload
        if type(record) not in self._types:
            return False
        if self._number is None:
            return True
        return self._number in AFFECTED[type(record)][self._kind](record, MetadataImage.EMPTY)

    def add_missed(self) -> bool:
        return False


class _ResourceReach:
    """Reach of the configs of a resource other than a topic: its name cannot change."""

    ids: Collection[Uuid] = ()
    target = None
    restarts = False
    is_indexed = True

    def __init__(self, resource_type: int, name: str) -> None:
        self._resource = resource_type, name
        encoded = name.encode("utf-8", "surrogatepass")
        self.needles = Needles()
        self.needles.add_type(BeginTransactionRecord)
        beginning = LONGS[resource_type] + LONGS[len(encoded)] + encoded
        self.needles.add_type(ConfigRecord, beginning, name)

    def takes(self, row: Envelope) -> bool:
        record = row.payload
        return (
            isinstance(record, ConfigRecord)
            and (record.resource_type, record.resource_name) == self._resource
        )

    def add_missed(self) -> bool:
        return False


class ReplicasReach:
    """Reach of the replicas of some partitions, and of some brokers, all given by id.

    Takes the records that set the partitions' replicas, and all records about the brokers.
    """

    target = None
    restarts = False
    is_indexed = True

    def __init__(self, partitions: Collection[tuple[Uuid, int]], brokers: Iterable[int]) -> None:
        self.needles = Needles()
        self._partitions = frozenset(partitions)
        self._brokers = [_KindReach("broker", number, self.needles) for number in brokers]
        self.needles.add_type(BeginTransactionRecord)
        for topic_id in self.ids:
            self.needles.add_id(topic_id)

    @property
    def ids(self) -> Collection[Uuid]:
        return {topic_id for topic_id, _ in self._partitions}

    def takes(self, row: Envelope) -> bool:
        record = row.payload
        if isinstance(record, PartitionRecord | PartitionChangeRecord):
            return (record.topic_id, record.partition_id) in self._partitions
        return any(broker.takes(row) for broker in self._brokers)

    def add_missed(self) -> bool:
        return False


class WithBrokers:
    """Reach of a partition, extended by all records about brokers.

    Includes all brokers, because the partition's replicas are known only while reading, and records
    about brokers are few.
    """

    target = None
    restarts = False
    is_indexed = True

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._brokers = _KindReach("broker", needles=reach.needles)

    @property
    def needles(self) -> Needles:
        return self._reach.needles

    @property
    def ids(self) -> Collection[Uuid]:
        return self._reach.ids

    def takes(self, row: Envelope) -> bool:
        return self._reach.takes(row) or self._brokers.takes(row)

    def add_missed(self) -> bool:
        return self._reach.add_missed()
