"""Converts an image to the records of a Kafka checkpoint, and lists what Kafka does not support."""

import msgspec

from records import configs, control, partitions, security, topics
from records.base import Record, Uuid
from records.metadata_versions import METADATA_VERSION
from records.registry import CONTROL_TYPES
from records.text import uuid_text
from replay.image.configs import NAMESPACE, TOPIC
from replay.image.metadata import MetadataImage
from replay.image.partitions import READ_WRITE
from replay.image.records import image_records
from replay.kafka_form.base import METADATA_VERSION_OLDEST, VersionOf, fitting_version
from replay.kafka_form.mapping import ACL_RESOURCE_TYPE_MAX, OWN_FEATURES

_OWN = "it is not Kafka's"
_NO_NAMESPACES = "Kafka has no namespaces"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """An object, or a field of one, that Kafka does not support.

    `matters` is True if leaving it out changes the meaning of the state.
    """

    object: str
    reason: str
    matters: bool = True


class KafkaRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The records of an image, as Kafka writes them, and the objects that Kafka does not support.

    `data` has each data record with its layout version.
    """

    control: list[Record]
    data: list[tuple[Record, int]]
    left_out: list[LeftOut]


def kafka_records(image: MetadataImage, version_of: VersionOf) -> KafkaRecords:
    """Return the records of a checkpoint that Kafka can load."""
    found = KafkaRecords(control=[], data=[], left_out=[])
    level = image.feature(METADATA_VERSION) or METADATA_VERSION_OLDEST
    for record, version in image_records(image):
        left_out, kept = _split(image, record)
        if left_out is not None:
            found.left_out.append(left_out)
        if kept is not None:
            if type(kept) in CONTROL_TYPES:
                found.control.append(kept)
            else:
                found.data.append((kept, fitting_version(kept, version_of(kept, level), version)))
    return found


def _split(image: MetadataImage, record: Record) -> tuple[LeftOut | None, Record | None]:
    """Return the part of a record that Kafka does not support, and the record to write for Kafka.

    Each of the two is None if there is no such part or record.
    """
    match record:
        case configs.FeatureLevelRecord() if record.name in OWN_FEATURES:
            return LeftOut(object=f"feature:{record.name}", reason=_OWN, matters=False), None
        case topics.NamespaceRecord():
            return LeftOut(object=f"namespace:{record.name}", reason=_NO_NAMESPACES), None
        case topics.TopicRecord() if record.namespace_id is not None:
            name = topic_name(image, record.topic_id)
            return LeftOut(object=f"topic:{name}", reason="it is in a namespace"), None
        case partitions.PartitionRecord():
            return _split_partition(image, record)
        case configs.ConfigRecord():
            return _split_config(image, record)
        case security.AccessControlEntryRecord() if record.resource_type > ACL_RESOURCE_TYPE_MAX:
            return LeftOut(object=f"acl:{uuid_text(record.id)}", reason=_NO_NAMESPACES), None
        case control.NoteRecord():
            about = f"note:{record.at_offset}"
            return LeftOut(object=about, reason="Kafka has no notes", matters=False), None
        case partitions.DeleteTopicPartitionsRecord() | partitions.ReplicaDeletionRecord():
            name = topic_name(image, record.topic_id)
            return LeftOut(object=f"removal:{name}", reason="Kafka removes no partitions"), None
    return None, record


def _split_partition(
    image: MetadataImage, record: partitions.PartitionRecord
) -> tuple[LeftOut | None, Record | None]:
    topic = image.topic(record.topic_id)
    if topic is None or topic.namespace_id is not None:
        return None, None  # left out with its topic
    if record.mode == READ_WRITE:
        return None, record
    name = f"partition:{topic.name}/{record.partition_id}#mode"
    left_out = LeftOut(object=name, reason="Kafka has no modes: it would be written to again")
    return left_out, msgspec.structs.replace(record, mode=READ_WRITE)


def _split_config(
    image: MetadataImage, record: configs.ConfigRecord
) -> tuple[LeftOut | None, Record | None]:
    if record.resource_type == NAMESPACE:
        name = f"config:namespace/{record.resource_name}#{record.name}"
        return LeftOut(object=name, reason=_NO_NAMESPACES), None
    topic = image.topic_by_full_name(record.resource_name)
    if record.resource_type == TOPIC and topic is not None and topic.namespace_id is not None:
        return None, None  # left out with its topic
    return None, record


def topic_name(image: MetadataImage, topic_id: Uuid) -> str:
    """Return a topic's full name."""
    topic = image.topic(topic_id)
    assert topic is not None, topic_id
    return image.full_name(topic)
