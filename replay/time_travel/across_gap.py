"""Differences between the states on both sides of a gap in a recording.

The state after a gap comes from a snapshot of Kafka's, which lists the features and endpoints of
brokers and controllers in an order of its own, and has -1 for the broker that got the last producer
ids. Differences that only come from the snapshot's form are left out.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from replay.image.metadata import MetadataImage
from replay.time_travel.changes import Change
from replay.time_travel.diff import changed_keys, diff_images
from replay.time_travel.effects import Touched
from replay.time_travel.kinds import KINDS
from replay.time_travel.objects import ObjectName


def changes_across(
    old: MetadataImage, new: MetadataImage, only: ObjectName | None = None
) -> list[Change]:
    """Return the fields that differ between the states of two parts of a recording."""
    return [
        each
        for each in diff_images(old, new, only)
        if not is_of_snapshot(each.object, each.before, each.after)
    ]


def touched_across(old: MetadataImage, new: MetadataImage) -> Iterator[Touched]:
    """Yield the objects that differ between the states of two parts, in a fixed order."""
    for kind in KINDS.values():
        for key in sorted(changed_keys(kind, old, new), key=repr):
            yield Touched(kind, key, kind.value(old, key), kind.value(new, key))


def is_of_snapshot(name: str, before: Any, after: Any) -> bool:
    """True if two values of a field of an object differ only because one is from a snapshot."""
    if name == "cluster:producer_ids" and -1 in (before, after):
        return True
    sides = before, after
    if not all(isinstance(side, list) and side and isinstance(side[0], dict) for side in sides):
        return False
    old, new = (sorted(map(msgspec.json.encode, side)) for side in sides)
    return old == new
