"""Effective changes: the fields that a record changed, or that differ between two images.

An object is identified by its key. A topic that was deleted and created again under the same name
counts as two objects, each labelled with its id.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from records.envelope import Envelope, Origin
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS, Fields, Key, partition_fields_of_two
from replay.time_travel.labels import partition_label
from replay.time_travel.names_of_two import Names
from replay.time_travel.objects import ObjectName

# ASCII digits, of bounded length: int() rejects some characters that str.isdigit() accepts.
_NUMBER = re.compile(r"[0-9]{1,4000}")


class Change(msgspec.Struct, frozen=True, gc=False):
    """A difference between two states of an object in one field.

    `before` and `after` are JSON values, None if the field is absent. `fate` is `new`, `gone` or
    `changed`, for the object as a whole.
    """

    object: str
    field: str
    before: Any
    after: Any
    fate: str


class EffectiveChange(Change, frozen=True, kw_only=True):
    """A field that a record changed.

    Attributes:
        offset: Offset of the record, even if it took effect only at the end of its transaction.
        timestamp: Append time of the record, ms since 1970.
        type: Type of the record.
        origin: Origin of the record, if known.
        in_effect: False for records of an aborted transaction.
    """

    offset: int
    timestamp: int
    type: str
    origin: Origin | None
    in_effect: bool = True


def record_changes(
    before: MetadataImage,
    row: Envelope,
    after: MetadataImage,
    *,
    only: ObjectName | None = None,
    in_effect: bool = True,
) -> list[EffectiveChange]:
    """Return the fields that a record changed, given the images immediately before and after it.

    Args:
        only: Return only the changes of this object or field. The name may mean different objects
            before and after.
        in_effect: False for a record of an aborted transaction.
    """
    if only is not None:
        changes = field_changes(only.object, only.fields(before), only.fields(after))
    else:
        touched = AFFECTED.get(type(row.payload), {})
        changes = object_changes(
            {kind: keys(row.payload, before) for kind, keys in touched.items()}, before, after
        )
    return _effective(changes, row, in_effect)


def partition_changes(
    image: MetadataImage, row: Envelope, old: Partition, new: Partition
) -> list[EffectiveChange]:
    """Return the fields that the change of a partition in `row` changed.

    Args:
        image: An image in which the partition's topic has its name.
        old: The partition before the record.
        new: The partition after it.
    """
    label = partition_label(image, (old.topic_id, old.partition_id))
    changes = field_changes(f"partition:{label}", *partition_fields_of_two(old, new))
    return _effective(changes, row, in_effect=True)


def _effective(changes: Iterable[Change], row: Envelope, in_effect: bool) -> list[EffectiveChange]:
    return [
        EffectiveChange(
            *(change.object, change.field, change.before, change.after, change.fate),
            offset=row.offset,
            timestamp=row.timestamp,
            type=type(row.payload).__name__,
            origin=row.origin,
            in_effect=in_effect,
        )
        for change in changes
    ]


def object_changes(
    keys: Mapping[str, Iterable[Key]], before: MetadataImage, after: MetadataImage
) -> list[Change]:
    """Return the fields that differ in some objects, ordered by kind and name.

    Args:
        keys: Keys of the objects to compare, by kind, without duplicates.
    """
    changes: list[Change] = []
    old_names, new_names = Names(before, after), Names(after, before)
    for kind in [KINDS[name] for name in keys] if len(keys) < 2 else KINDS.values():
        found = []
        for key in keys.get(kind.name, ()):
            old, new = kind.fields_of_two(before, after, key)
            if old != new:
                names = old_names if new is None else new_names
                found.append((names.of(kind, key), old, new))
        if len(found) > 1:
            found.sort(key=lambda each: natural(each[0]))
        for label, old, new in found:
            changes += field_changes(f"{kind.name}:{label}", old, new)
    return changes


def field_changes(name: str, before: Fields | None, after: Fields | None) -> list[Change]:
    """Return the fields that differ between two states of an object (None: absent)."""
    if before is None:  # most changes are those of new objects
        new = (after or {}).items()
        return [
            Change(name, field, None, value, "new") for field, value in new if value is not None
        ]
    fate = "gone" if after is None else "changed"
    after = after or {}
    return [
        Change(name, field, before.get(field), after.get(field), fate)
        for field in dict.fromkeys([*before, *after])
        if before.get(field) != after.get(field)
    ]


def natural(label: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts `orders/10` after `orders/9`."""
    parts = label.replace("/", "\0/\0").split("\0")
    return [(0, int(part), "") if _NUMBER.fullmatch(part) else (1, 0, part) for part in parts]
