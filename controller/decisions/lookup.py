"""Finds the objects that a request refers to."""

import re
from collections import Counter
from collections.abc import Iterable

from controller.results.refusals import unknown_namespace, unknown_topic, unknown_topic_id
from records.base import Uuid
from records.errors import RequestError
from records.text import parse_uuid, uuid_text
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.topics import Topic

TopicRef = str | Uuid
"""A topic by its full name or by its id."""

DEFAULT_NAMESPACE = ""

# The form in which brokers look up their id; configs of "01" would never be found.
_BROKER_ID = re.compile(r"0|[1-9][0-9]{0,9}")


def is_broker_id(name: str) -> bool:
    """True if the name of a config resource is a broker id, in the form that brokers write."""
    return _BROKER_ID.fullmatch(name) is not None


def find_topic(image: MetadataImage, ref: TopicRef) -> Topic:
    """Return a topic by name or id.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION for a name, UNKNOWN_TOPIC_ID for an id.
    """
    if isinstance(ref, str):
        topic = image.topic_by_full_name(ref)
        if topic is None:
            raise unknown_topic(ref)
        return topic
    topic = image.topic(ref)
    if topic is None:
        raise unknown_topic_id(uuid_text(ref))
    return topic


def topic_ref(text: str) -> TopicRef:
    """Return a topic's full name, or its id if the text is `@ID`.

    Raises:
        RequestError: INVALID_REQUEST, the text after `@` is no id.
    """
    if not text.startswith("@"):
        return text
    try:
        return parse_uuid(text[1:])
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"topic {text}: {error}") from error


def full_name(image: MetadataImage, text: str) -> str:
    """Return the name of the topic that is given as `@ID`; any other text is returned as it is.

    Raises:
        RequestError: UNKNOWN_TOPIC_ID; or INVALID_REQUEST, the text after `@` is no id.
    """
    ref = topic_ref(text)
    return ref if isinstance(ref, str) else image.full_name(find_topic(image, ref))


def topics_named_twice(image: MetadataImage, refs: Iterable[TopicRef]) -> frozenset[Uuid]:
    """Return the ids of the topics that `refs` contain more than once, by name or by id."""
    counts: Counter[Uuid] = Counter()
    for ref in refs:
        topic = image.topic_by_full_name(ref) if isinstance(ref, str) else image.topic(ref)
        if topic is not None:
            counts[topic.topic_id] += 1
    return frozenset([topic_id for topic_id, count in counts.items() if count > 1])


def find_partition(image: MetadataImage, topic: Topic, partition_id: int) -> Partition:
    """Return one partition of a topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION.
    """
    partition = image.partition(topic.topic_id, partition_id)
    if partition is None:
        raise RequestError(
            "UNKNOWN_TOPIC_OR_PARTITION",
            f"topic {image.full_name(topic)!r} has no partition {partition_id}",
        )
    return partition


def partition_exists(image: MetadataImage, ref: TopicRef, partition_id: int) -> bool:
    """True if the topic exists and has a partition of this id."""
    topic = image.topic_by_full_name(ref) if isinstance(ref, str) else image.topic(ref)
    return topic is not None and image.partition(topic.topic_id, partition_id) is not None


def partition_named(image: MetadataImage, ref: TopicRef, partition_id: int) -> tuple[TopicRef, int]:
    """Return a partition's key, which is the same whether the topic is given by name or by id."""
    topic = image.topic_by_full_name(ref) if isinstance(ref, str) else None
    return (ref if topic is None else topic.topic_id), partition_id


def find_namespace(image: MetadataImage, name: str) -> Uuid | None:
    """Return the id of a namespace; None for the default one, "".

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION (InvalidNamespace), the namespace does not exist.
    """
    if name == DEFAULT_NAMESPACE:
        return None
    namespace = image.namespace_by_name(name)
    if namespace is None:
        raise unknown_namespace(name)
    return namespace.namespace_id


def namespace_of(image: MetadataImage, topic: Topic) -> str:
    """Return the full name of a topic's namespace; "" for the default one."""
    namespace = topic.namespace_id and image.namespace(topic.namespace_id)
    return namespace.name if namespace else DEFAULT_NAMESPACE


def ref_text(ref: TopicRef) -> str:
    """Return a topic reference as text: a name unchanged, an id as `@` and 22 characters."""
    return ref if isinstance(ref, str) else f"@{uuid_text(ref)}"
