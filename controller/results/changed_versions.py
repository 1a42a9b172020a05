"""Versions of the objects that a decision changed, for use in the caller's next requests."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from records.base import Record, Uuid
from records.topics import MoveTopicRecord
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS, VERSIONED_KINDS, object_version

VERSIONS_MAX = 1_000
"""Maximum number of versions in an answer; after larger changes a caller has to read them."""


class ObjectVersion(msgspec.Struct, frozen=True):
    """An object, such as `partition:orders/0`, and its version; None if it does not exist."""

    object: str
    version: int | None


_EXISTS: dict[str, Callable[[MetadataImage, Any], bool]] = {
    "topic": lambda image, key: image.topic(key) is not None,
    "partition": lambda image, key: image.partition(*key) is not None,
    "namespace": lambda image, key: image.namespace(key) is not None,
    "config": lambda image, key: bool(image.config(*key)),
}
assert _EXISTS.keys() == frozenset(VERSIONED_KINDS)

# A removal is an object of its own, but starting or cancelling one touches its partition.
_TOUCHES = {kind: (kind,) for kind in VERSIONED_KINDS} | {"partition": ("partition", "removal")}


def changed_versions(
    records: Sequence[Record], before: MetadataImage, after: MetadataImage, since: int
) -> tuple[ObjectVersion, ...] | None:
    """Return the objects changed by records, each with its version after the last record.

    Args:
        before: The image right before the first record.
        after: The image after the last record.
        since: Offset of the first record. Every changed object has a version of at least this.

    Returns:
        The objects ordered by kind, and within a kind by their first record; None if there are more
        than `VERSIONS_MAX`.
    """
    if len(records) > VERSIONS_MAX:
        return None
    found: dict[str, int | None] = {}
    for kind, parts in _TOUCHES.items():
        exists, label = _EXISTS[kind], KINDS[kind].label
        seen = set[Any]()
        for key in _keys(records, parts, before, after):
            if key in seen:
                continue
            seen.add(key)
            if exists(after, key):
                version = object_version(after, kind, key)
                if version >= since:
                    found[f"{kind}:{label(after, key)}"] = version
            elif exists(before, key):
                # The name may be another object's by now.
                found.setdefault(f"{kind}:{label(before, key)}", None)
            if len(found) > VERSIONS_MAX:
                return None  # at once: the removal of a topic yields all its partitions
    return tuple([ObjectVersion(name, version) for name, version in found.items()])


def _keys(
    records: Sequence[Record],
    parts: Iterable[str],
    before: MetadataImage,
    after: MetadataImage,
) -> Iterable[Any]:
    """Yield the keys of all objects that the records may have changed, and perhaps of some others.

    Looks at both images, because in a transaction a record may refer to an object that an earlier
    record created.
    """
    for record in records:
        touched = AFFECTED.get(type(record), {})
        for part in parts:
            if part == "config" and isinstance(record, MoveTopicRecord):
                yield from _configs_of(record.topic_id, before, after)
            elif part in touched:
                yield from touched[part](record, before)
                yield from touched[part](record, after)


def _configs_of(topic_id: Uuid, *images: MetadataImage) -> Iterator[Any]:
    """Yield the key of a topic's configs in each image that has the topic.

    The key contains the topic's name, which may differ between the images.
    """
    for image in images:
        topic = image.topic(topic_id)
        if topic is not None:
            yield TOPIC, image.full_name(topic)
