"""Differences between two images."""

from collections.abc import Iterator

from replay.image.metadata import MetadataImage
from replay.time_travel.changes import Change, field_changes, object_changes
from replay.time_travel.effects import Touched
from replay.time_travel.kinds import KINDS, Key, Kind
from replay.time_travel.objects import ObjectName


def diff_images(
    before: MetadataImage, after: MetadataImage, only: ObjectName | None = None
) -> list[Change]:
    """Return every field that differs between two images, ordered by kind and object name.

    Parts that the images share are skipped.

    Args:
        only: Return only the changes of this object or field. An object that has this name in one
            image, and was moved, is compared with itself.
    """
    if only is not None:
        keys_of = only.key(before), only.key(after)
        old, new = (
            only.fields_of(key if key is not None or not only.kind.is_renamed else other, image)
            for key, other, image in zip(keys_of, reversed(keys_of), (before, after), strict=True)
        )
        return field_changes(only.object, old, new)
    differing = (
        Touched(kind, key, kind.value(before, key), kind.value(after, key))
        for kind in KINDS.values()
        for key in changed_keys(kind, before, after)
    )
    return object_changes(differing, before, after)


def changed_keys(kind: Kind, before: MetadataImage, after: MetadataImage) -> Iterator[Key]:
    """Yield the keys of the objects of a kind that differ between two images."""
    if kind.name == "partition":
        yield from _changed_partitions(before, after)
        return
    old = dict(kind.objects(before))
    for key, value in kind.objects(after):
        previous = old.pop(key, None)
        if previous is not value and previous != value:
            yield key
    yield from old


def _changed_partitions(before: MetadataImage, after: MetadataImage) -> Iterator[Key]:
    """Yield the keys of the partitions that differ.

    Only topics for which `topic_differences` found a difference are searched.
    """
    old_entries, new_entries = before.topic_differences(after)
    for topic_id in {entry.topic.topic_id for entry in (*old_entries, *new_entries)}:
        old = {each.partition_id: each for each in before.partitions(topic_id)}
        for each in after.partitions(topic_id):
            previous = old.pop(each.partition_id, None)
            if previous is not each and previous != each:
                yield topic_id, each.partition_id
        for partition_id in old:
            yield topic_id, partition_id
