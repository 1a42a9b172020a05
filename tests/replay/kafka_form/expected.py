"""The state that an observer of Kafka's form must have, computed from our own images.

Written from docs/kafka_form.md, not from the mapping.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from records import configs, control, partitions, security, topics
from records.base import Record, Uuid
from records.envelope import Envelope
from records.text import uuid_text
from replay.image.metadata import MetadataImage
from replay.image.records import image_records

State = set[tuple[str, int]]
"""The records of an image, as text, with the versions of those whose version an image has."""

_WITHOUT = (
    topics.NamespaceRecord,
    partitions.DeleteTopicPartitionsRecord,
    partitions.ReplicaDeletionRecord,
    control.NoteRecord,
)


class FirstNames:
    """The names with which topics were created, from the rows that took effect."""

    def __init__(self) -> None:
        self.of: dict[Uuid, str] = {}
        self._namespaces: dict[Uuid | None, str] = {None: ""}

    def add(self, row: Envelope) -> None:
        """Follow the log by one row."""
        match row.payload:
            case topics.NamespaceRecord() as record:
                self._namespaces[record.namespace_id] = f"{record.name}:"
            case topics.TopicRecord() as record:
                name = self._namespaces[record.namespace_id] + record.name
                if name in self.of.values():
                    name = f"{name}@{uuid_text(record.topic_id)}"
                self.of[record.topic_id] = name
            case topics.RemoveTopicRecord() as record:
                del self.of[record.topic_id]


def expected_state(image: MetadataImage, first: FirstNames) -> State:
    """Return the state that an observer has where we have an image."""
    return {
        _text(r, v) for record, v in image_records(image) for r in _expected(image, record, first)
    }


def _expected(image: MetadataImage, record: Record, first: FirstNames) -> Iterator[Record]:
    match record:
        case configs.FeatureLevelRecord() if record.name.split(".")[0] in (
            "namespace",
            "partition",
        ):
            return
        case security.AccessControlEntryRecord() if record.resource_type == 100:
            return
        case configs.ConfigRecord() if record.resource_type == 100:
            return
        case _ if isinstance(record, _WITHOUT):
            return
        case configs.ConfigRecord() if record.resource_type == 2:
            topic = image.topic_by_full_name(record.resource_name)
            name = record.resource_name if topic is None else first.of[topic.topic_id]
            yield replace(record, resource_name=name)
        case topics.TopicRecord():
            yield replace(record, name=first.of[record.topic_id], namespace_id=None)
        case partitions.PartitionRecord():
            yield replace(record, mode=0)
        case _:
            yield record


def observed_state(image: MetadataImage, ours: MetadataImage) -> State:
    """Return the state of an observer, without the partitions that are no more in ours."""
    return {
        _text(record, version)
        for record, version in image_records(image)
        if not (isinstance(record, partitions.PartitionRecord) and _is_removed(record, ours))
    }


def _is_removed(record: partitions.PartitionRecord, ours: MetadataImage) -> bool:
    return ours.partition(record.topic_id, record.partition_id) is None


def _text(record: Record, version: int) -> tuple[str, int]:
    return repr(record), version
