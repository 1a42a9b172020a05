"""Effective changes: the fields that a record changed, or that differ between two images.

An object is identified by its key. A topic that was deleted and created again under the same name
counts as two objects, each labelled with its id.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

import msgspec

from records.base import Uuid
from records.envelope import Envelope, Origin
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, check_point
from replay.time_travel.effects import Effect, Effects, Touched
from replay.time_travel.kinds import Fields, Key, Kind
from replay.time_travel.labels import partition_label, topic_key, topic_label
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


def effective_changes(
    source: BatchSource,
    from_offset: int,
    to_offset: int,
    start: Callable[[int], MetadataImage],
) -> Iterator[EffectiveChange]:
    """Yield every field that a record in [from_offset, to_offset) changed, in order of effect.

    Changes in a transaction are yielded when it ends or is aborted; not at all if it is still open
    at `to_offset`.

    Args:
        start: Returns the image as of an offset.

    Raises:
        UnknownHistoryError: `from_offset` lies before the kept history.
        RequestError: OFFSET_OUT_OF_RANGE, `to_offset` lies past the end.
        CorruptLogError: a record contradicts the state before it; names the offset.
    """
    check_point(source, from_offset - 1)
    check_point(source, to_offset - 1)
    # Of a transaction that is open at `from_offset`, what came before that is left out.
    for effect in Effects(start(from_offset - 1)).until(source, to_offset, aborted=True):
        if effect.row.offset >= from_offset:
            yield from effective_changes_of(effect)


def effective_changes_of(
    effect: Effect, touched: Iterable[Touched] | None = None
) -> list[EffectiveChange]:
    """Return the fields that a record changed.

    Args:
        touched: Return only the changes of these objects, in the order of `effect.touched`.
    """
    objects = effect.touched if touched is None else touched
    changes = object_changes(objects, effect.before, effect.after)
    return _effective(changes, effect.row, effect.in_effect)


def changes_of_one(
    name: ObjectName, row: Envelope, before: MetadataImage, after: MetadataImage
) -> list[EffectiveChange]:
    """Return the changes of an object or field by a record that took effect.

    Args:
        name: May mean different objects before and after.
        before, after: The images immediately before and after the record.
    """
    changes = field_changes(name.object, name.fields(before), name.fields(after))
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
    touched: Iterable[Touched], before: MetadataImage, after: MetadataImage
) -> list[Change]:
    """Return the fields that differ in some objects, ordered by kind and name.

    Args:
        touched: Objects, ordered by kind, without duplicates.
        before, after: Images that name the objects.
    """
    changes: list[Change] = []
    old_names, new_names = Names(before, after), Names(after, before)
    for kind, of_kind in groupby(touched, key=attrgetter("kind")):
        found = []
        for _, key, old_value, new_value in of_kind:
            old, new = kind.fields_of_two(old_value, new_value)
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


class Names:
    """Names the objects of one image: by their label, or by their id if that is ambiguous.

    A label is ambiguous if it means another object in the other image.
    """

    def __init__(self, image: MetadataImage, other: MetadataImage) -> None:
        """Name the objects of `image`, which is compared with `other`."""
        self._image = image
        self._other = other
        # Topics have many partitions: the label of each topic, and what it means in `other`.
        self._topics: dict[Uuid, tuple[str, Uuid | None]] = {}

    def of(self, kind: Kind, key: Key) -> str:
        """Return the name of an object of the image."""
        if kind.name == "partition":
            return self._partition(*cast(tuple[Uuid, int], key))
        label = kind.label(self._image, key)
        if not kind.is_renamed or self._found(kind, label) in (None, key):
            return label
        # An image without the object names it by its id.
        return kind.label(MetadataImage.EMPTY, key)

    def _found(self, kind: Kind, label: str) -> Any:
        """Return the key of the object with a label in the other image, None if there is none.

        A log may contain names that Kafka never writes, and that are no valid labels.
        """
        try:
            return kind.find(self._other, label)
        except ValueError:
            return None

    def _partition(self, topic_id: Uuid, partition_id: int) -> str:
        known = self._topics.get(topic_id)
        if known is None:
            known = self._topics[topic_id] = self._topic(topic_id)
        label, meant = known
        if meant in (None, topic_id) or self._other.partition(meant, partition_id) is None:
            return f"{label}/{partition_id}"
        return partition_label(MetadataImage.EMPTY, (topic_id, partition_id))

    def _topic(self, topic_id: Uuid) -> tuple[str, Uuid | None]:
        label = topic_label(self._image, topic_id)
        try:
            return label, cast(Uuid | None, topic_key(self._other, label))
        except ValueError:
            return label, None
