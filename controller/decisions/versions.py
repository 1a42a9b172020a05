"""Versions of objects: what an optimistic writer names to say which state it has seen.

A version is a token that is compared and never read. It is computed from the object's state, so
every controller gives the same for the same state, and whatever changes the object changes it:
a topic's covers its partitions (with their epochs), configs and pending removals, a namespace's
the topics right in it.
"""

import hashlib

import msgspec

from controller.decisions.lookup import DEFAULT_NAMESPACE, TopicRef, ref_text
from records.errors import RequestError
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic

ABSENT = "absent"
"""Version of what does not exist."""

_TOKEN_LENGTH = 16


class TopicObject(msgspec.Struct, frozen=True):
    """A topic with all that belongs to it."""

    topic: TopicRef

    def __str__(self) -> str:
        return f"topic {ref_text(self.topic)}"


class PartitionObject(msgspec.Struct, frozen=True):
    """One partition."""

    topic: TopicRef
    partition_id: int

    def __str__(self) -> str:
        return f"partition {ref_text(self.topic)}/{self.partition_id}"


class NamespaceObject(msgspec.Struct, frozen=True):
    """A namespace; "" is the default one."""

    name: str

    def __str__(self) -> str:
        return f"namespace {self.name!r}"


VersionedObject = TopicObject | PartitionObject | NamespaceObject


class ExpectedVersion(msgspec.Struct, frozen=True):
    """An object and the version in which it must be; `ABSENT`: it must not exist."""

    object: VersionedObject
    version: str


class VersionMismatchError(RequestError):
    """An object is not in the version that was expected; `current` is the one it is in."""

    def __init__(self, object_: VersionedObject, expected: str, current: str) -> None:
        super().__init__(
            "INVALID_UPDATE_VERSION",
            f"{object_} is at version {current}, expected {expected}; read it again, then decide",
        )
        self.current = current


def version_of(image: MetadataImage, object_: VersionedObject) -> str:
    """Return the version of an object as it is in an image."""
    match object_:
        case TopicObject(topic=ref):
            topic = _topic(image, ref)
            return ABSENT if topic is None else _topic_version(image, topic)
        case PartitionObject(topic=ref, partition_id=partition_id):
            topic = _topic(image, ref)
            partition = topic and image.partition(topic.topic_id, partition_id)
            return ABSENT if partition is None else _token(partition)
        case NamespaceObject(name=name):
            return _namespace_version(image, name)


def check_version(image: MetadataImage, expected: ExpectedVersion) -> None:
    """Refuse to go on from another state than the one expected.

    Raises:
        VersionMismatchError: INVALID_UPDATE_VERSION.
    """
    current = version_of(image, expected.object)
    if current != expected.version:
        raise VersionMismatchError(expected.object, expected.version, current)


def _topic(image: MetadataImage, ref: TopicRef) -> Topic | None:
    return image.topic_by_full_name(ref) if isinstance(ref, str) else image.topic(ref)


def _topic_version(image: MetadataImage, topic: Topic) -> str:
    return _token(
        [
            topic,
            tuple(image.partitions(topic.topic_id)),
            sorted(image.config(TOPIC, image.full_name(topic)).items()),
            sorted(image.pending_removals(topic.topic_id), key=lambda r: r.partition_id),
        ]
    )


def _namespace_version(image: MetadataImage, name: str) -> str:
    namespace = image.namespace_by_name(name)
    if namespace is None and name != DEFAULT_NAMESPACE:
        return ABSENT
    namespace_id = None if namespace is None else namespace.namespace_id
    topics = sorted(image.topics_in(namespace_id), key=lambda topic: topic.topic_id)
    return _token([namespace, topics])


def _token(state: object) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(state)).hexdigest()[:_TOKEN_LENGTH]
