"""What differs between two images."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import KINDS, Fields, Kind
from replay.time_travel.objects import ObjectName

# ASCII only, and not endless: int() refuses some of what str.isdigit() takes for digits.
_NUMBER = re.compile(r"[0-9]{1,4000}")


class Change(msgspec.Struct, frozen=True):
    """One field that differs. `before` and `after` are JSON values, None where it is absent.

    `fate` is what became of the object: `new`, `gone` or `changed`.
    """

    object: str
    field: str
    before: Any
    after: Any
    fate: str = "changed"


def field_changes(name: str, before: Fields | None, after: Fields | None) -> list[Change]:
    """Return the fields that differ between two states of one object (None: absent)."""
    fate = "new" if before is None else "gone" if after is None else "changed"
    before, after = before or {}, after or {}
    return [
        Change(name, field, before.get(field), after.get(field), fate)
        for field in dict.fromkeys([*before, *after])
        if before.get(field) != after.get(field)
    ]


def diff_images(
    before: MetadataImage, after: MetadataImage, only: ObjectName | None = None
) -> list[Change]:
    """Return every field that differs, ordered by kind and name of the object.

    Objects are compared by their identity: a topic that was deleted and created again under the
    same name is two objects, and each is then named by its id. What the images share is skipped.
    """
    if only is not None:
        return field_changes(only.object, only.fields(before), only.fields(after))
    changes: list[Change] = []
    for kind in KINDS.values():
        found = [
            (_label(kind, key, before, after), key) for key in _changed_keys(kind, before, after)
        ]
        for label, key in sorted(found, key=lambda pair: _natural(pair[0])):
            name = f"{kind.name}:{label}"
            changes += field_changes(name, kind.fields(before, key), kind.fields(after, key))
    return changes


def _changed_keys(kind: Kind, before: MetadataImage, after: MetadataImage) -> Iterator[Any]:
    old = dict(kind.objects(before))
    for key, value in kind.objects(after):
        previous = old.pop(key, None)
        if previous is not value and previous != value:
            yield key
    yield from old


def _label(kind: Kind, key: Any, before: MetadataImage, after: MetadataImage) -> str:
    """Name an object as it is called after, or before when it is gone; by id when in doubt."""
    image = after if kind.fields(after, key) is not None else before
    label = kind.label(image, key)
    other = _found(kind, before if image is after else after, label)
    if other is None or other == key:
        return label
    # The other image calls another object so. An image without this one names it by its id.
    return kind.label(MetadataImage.EMPTY, key)


def _found(kind: Kind, image: MetadataImage, label: str) -> Any:
    """Return the key of the object called so; None also for a label that no one can ask for.

    A log may hold what Kafka's own names never are, such as a config of a new type of resource.
    """
    try:
        return kind.find(image, label)
    except ValueError:
        return None


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Order `orders/10` after `orders/9`."""
    parts = label.replace("/", "\0/\0").split("\0")
    return [(0, int(part), "") if _NUMBER.fullmatch(part) else (1, 0, part) for part in parts]
