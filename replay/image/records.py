"""Converts an image to the records that recreate it, for base checkpoints, forks and exports.

Record types come in the order of Kafka's checkpoints, followed by the types that Kafka lacks;
records of a type are sorted by key, so that equal images give equal files.
"""

from collections.abc import Iterator
from itertools import chain

from records import brokers, configs, partitions, topics
from records.base import Record
from records.envelope import Kept
from records.registry import newest_version
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS
from replay.image.versions import UNKNOWN


def image_records(image: MetadataImage) -> Iterator[tuple[Record, int]]:
    """Yield records that recreate the image, each with its layout version.

    Replaying them gives an image with the same digest. A broker's record has the broker's
    `record_version`; every other record has the newest version of its type.
    """
    versions = {broker.broker_id: broker.record_version for broker in image.brokers()}
    for record in chain.from_iterable(part.records(image) for part in PARTS.values()):
        if isinstance(record, brokers.RegisterBrokerRecord):
            yield record, versions[record.broker_id]
        else:
            yield record, newest_version(type(record))


def kept_of(image: MetadataImage, record: Record) -> Kept | None:
    """Return the version and creation offset to store with one of the image's records.

    Returns:
        None if the record's object has no version, or if the version is unknown.
    """
    created = UNKNOWN
    match record:
        case topics.TopicRecord():
            version = image.topic_version(record.topic_id)
        case partitions.PartitionRecord():
            version = image.partition_version(record.topic_id, record.partition_id)
            created = image.partition_created(record.topic_id, record.partition_id)
        case topics.NamespaceRecord():
            namespace = image.namespace(record.namespace_id)
            version = UNKNOWN if namespace is None else namespace.version
        case brokers.RegisterControllerRecord():
            controller = image.controller(record.controller_id)
            version = UNKNOWN if controller is None else controller.version
        case configs.ConfigRecord():
            version = image.config_version(record.resource_type, record.resource_name)
        case _:
            return None
    if version == UNKNOWN:
        return None
    return Kept(version=version, created=None if created == UNKNOWN else created)
