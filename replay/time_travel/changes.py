"""Effective changes: the fields that a record changed, or in which two images differ.

An object is identified by its key: a topic that was deleted and created again under the same name
is two objects, and each is then named by its id.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from records.envelope import Envelope, Origin
from replay.image.metadata import MetadataImage
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS, Fields, Key, Kind
from replay.time_travel.objects import ObjectName

# ASCII digits, of bounded length: int() rejects some characters that str.isdigit() accepts.
_NUMBER = re.compile(r"[0-9]{1,4000}")


class Change(msgspec.Struct, frozen=True, gc=False):
    """One field that differs. `before` and `after` are JSON values, None if the field is absent.

    `fate` of the object: `new`, `gone` or `changed`.
    """

    object: str
    field: str
    before: Any
    after: Any
    fate: str


class EffectiveChange(Change, frozen=True, kw_only=True):
    """One field that a record changed.

    Attributes:
        offset: Of the record, even if it took effect later, at the end of its transaction.
        timestamp: Append time of the record, ms since 1970.
        type: Of the record.
        origin: Of the record, if known.
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
    """Return the fields that a record changed, given the images right before and after it.

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
    """Return the fields in which some objects differ, ordered by kind and name.

    Args:
        keys: Of the objects, by kind; each once.
    """
    changes: list[Change] = []
    for kind in KINDS.values():
        found = []
        for key in keys.get(kind.name, ()):
            old, new = kind.fields_of_two(before, after, key)
            if old != new:
                label = _label(kind, key, *((before, after) if new is None else (after, before)))
                found.append((label, old, new))
        for label, old, new in sorted(found, key=lambda each: natural(each[0])):
            changes += field_changes(f"{kind.name}:{label}", old, new)
    return changes


def field_changes(name: str, before: Fields | None, after: Fields | None) -> list[Change]:
    """Return the fields that differ between two states of one object (None: absent)."""
    fate = "new" if before is None else "gone" if after is None else "changed"
    before, after = before or {}, after or {}
    return [
        Change(name, field, before.get(field), after.get(field), fate)
        for field in dict.fromkeys([*before, *after])
        if before.get(field) != after.get(field)
    ]


def _label(kind: Kind, key: Key, image: MetadataImage, other: MetadataImage) -> str:
    """Return an object's name in an image; its id if the name means another object in `other`."""
    label = kind.label(image, key)
    if _found(kind, other, label) in (None, key):
        return label
    # An image without the object names it by its id.
    return kind.label(MetadataImage.EMPTY, key)


def _found(kind: Kind, image: MetadataImage, label: str) -> Any:
    """Return the key of the object with this name; None also for names that cannot be requested.

    A log may hold names that Kafka never writes, such as a config of a new type of resource.
    """
    try:
        return kind.find(image, label)
    except ValueError:
        return None


def natural(label: str) -> list[tuple[int, int, str]]:
    """Sort key that puts `orders/10` after `orders/9`."""
    parts = label.replace("/", "\0/\0").split("\0")
    return [(0, int(part), "") if _NUMBER.fullmatch(part) else (1, 0, part) for part in parts]
