"""Differences between two images in which an object is identified by its name alone.

For readers who may see only some names: a topic that was moved is gone under its old name and new
under the new one, with all its fields, and so is everything in it.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.time_travel.changes import Change, field_changes, natural
from replay.time_travel.diff import changed_keys
from replay.time_travel.kinds import KINDS, Fields, Kind
from replay.time_travel.labels import topic_label
from replay.time_travel.objects import ObjectName

_IN_TOPICS = frozenset({"partition", "removal", "deletion"})
"""Kinds whose keys begin with the id of a topic."""


def label_by_name(kind: Kind, image: MetadataImage, key: Any) -> str:
    """Return an object's label; for a replica deletion, with the topic's name if it exists."""
    if kind.name != "deletion":
        return kind.label(image, key)
    return "/".join((topic_label(image, key[0]), *map(str, key[1:])))


def diff_by_name(
    before: MetadataImage, after: MetadataImage, only: ObjectName | None = None
) -> list[Change]:
    """Return every field that differs between two images, ordered by kind and object name.

    Args:
        only: Return only the changes of this object or field.
    """
    if only is not None:
        return field_changes(only.object, only.fields(before), only.fields(after))
    moved = frozenset(_moved(before, after))
    changes: list[Change] = []
    for kind in KINDS.values():
        keys = list(
            dict.fromkeys(
                chain(
                    changed_keys(kind, before, after),
                    _keys_in(kind, moved, before),
                    _keys_in(kind, moved, after),
                )
            )
        )
        old, new = (_named(kind, image, keys) for image in (before, after))
        for label in sorted(old.keys() | new.keys(), key=natural):
            changes += field_changes(f"{kind.name}:{label}", old.get(label), new.get(label))
    return changes


def _moved(before: MetadataImage, after: MetadataImage) -> Iterator[Uuid]:
    """Yield the ids of the topics whose names differ between the images."""
    for topic in after.topics():
        old = before.topic(topic.topic_id)
        if old is not None and before.full_name(old) != after.full_name(topic):
            yield topic.topic_id


def _keys_in(kind: Kind, topic_ids: frozenset[Uuid], image: MetadataImage) -> Iterator[Any]:
    if not topic_ids or kind.name not in _IN_TOPICS:
        return
    for key, _ in kind.objects(image):
        if key[0] in topic_ids:
            yield key


def _named(kind: Kind, image: MetadataImage, keys: list[Any]) -> dict[str, Fields]:
    found = ((key, kind.fields(image, key)) for key in keys)
    return {label_by_name(kind, image, key): fields for key, fields in found if fields is not None}
