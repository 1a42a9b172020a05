"""The topics, partitions and brokers that records affect."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from operator import attrgetter
from typing import Any

import msgspec

from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.registry import types_with
from records.topics import RemoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.image.partition_list import find
from replay.image.partitions import Partition

_ABOUT_TOPICS = types_with("topic_id")
_topic_id: Callable[[Any], Uuid] = attrgetter("topic_id")
_BROKER_ID: Mapping[type[Record], str] = {
    FenceBrokerRecord: "id",
    UnfenceBrokerRecord: "id",
    RegisterBrokerRecord: "broker_id",
    UnregisterBrokerRecord: "broker_id",
    BrokerRegistrationChangeRecord: "broker_id",
}
"""For each record type that affects a broker: the name of the field with the broker's id."""

AFFECTING = _ABOUT_TOPICS | _BROKER_ID.keys()
"""The record types that affect topics, partitions or brokers."""


class Affected(msgspec.Struct):
    """Topics, partitions and brokers affected by records.

    `partition_ids` maps each affected topic to its affected partitions. For a removed topic, these
    are all of its partitions.
    """

    partition_ids: dict[Uuid, set[int]] = msgspec.field(default_factory=dict)
    removed_topic_ids: set[Uuid] = msgspec.field(default_factory=set)
    broker_ids: set[int] = msgspec.field(default_factory=set)

    @property
    def topic_ids(self) -> Set[Uuid]:
        """The affected topics."""
        return self.partition_ids.keys()

    def partitions(self, image: MetadataImage, topic_id: Uuid) -> Iterator[Partition]:
        """Iterate over the affected partitions of a topic that exist in an image."""
        if topic_id in self.removed_topic_ids:
            yield from image.partitions(topic_id)
            return
        partitions = image.partitions(topic_id)
        for partition_id in sorted(self.partition_ids[topic_id]):
            partition = find(partitions, partition_id)
            if partition is not None:
                yield partition

    def add(self, records: Iterable[Record]) -> None:
        """Add all objects affected by records; a replica deletion does not affect its broker."""
        for record in records:
            cls = type(record)
            if cls in _ABOUT_TOPICS:
                self._add_named(_topic_id(record), record)
            elif cls in _BROKER_ID:
                self.broker_ids.add(getattr(record, _BROKER_ID[cls]))

    def add_partitions(self, partitions: Iterable[Partition]) -> None:
        """Mark the given partitions as affected."""
        for partition in partitions:
            self.partition_ids.setdefault(partition.topic_id, set()).add(partition.partition_id)

    def _add_named(self, topic_id: Uuid, record: Record) -> None:
        ids = self.partition_ids.setdefault(topic_id, set())
        ids.update(getattr(record, "partition_ids", ()))
        partition_id = getattr(record, "partition_id", None)
        if partition_id is not None:
            ids.add(partition_id)
        if isinstance(record, RemoveTopicRecord):
            self.removed_topic_ids.add(topic_id)
