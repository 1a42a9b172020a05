"""The objects that each record of a report's range changes, with their fields.

Objects are identified by key, because their names can change.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.incidents.health import broker_kinds, partition_kinds
from replay.time_travel.across_gap import is_of_snapshot, touched_across
from replay.time_travel.effects import Effect
from replay.time_travel.kinds import KINDS, Fields, Key, Kind


class Touched(NamedTuple):
    """An object before and after a record: its fields, or None if it does not exist.

    Of an object that exists before and after, fields that did not change may be left out.

    Attributes:
        label: The object's name after the record, or before it if the record removed the object.
        outages: The kinds of outage that the object is in after the record, of
            `replay.incidents.health.KINDS`.
    """

    kind: str
    key: Any
    label: str
    before: Fields | None
    after: Fields | None
    outages: tuple[str, ...]


def objects_of(image: MetadataImage) -> Iterator[Touched]:
    """Yield every object of an image as newly created."""
    for kind in KINDS.values():
        for key, value in kind.objects(image):
            yield _created(image, kind, key, value)


def partitions_of(image: MetadataImage, topic_id: Uuid) -> Iterator[Touched]:
    """Yield the partitions of a topic in an image as newly created."""
    for partition in image.partitions(topic_id):
        yield _created(image, KINDS["partition"], (topic_id, partition.partition_id), partition)


def _created(image: MetadataImage, kind: Kind, key: Key, value: Any) -> Touched:
    outages = _outages(kind.name, value)
    return Touched(kind.name, key, kind.label(image, key), None, kind.fields_of(value), outages)


def objects_changed(effect: Effect) -> list[Touched]:
    """Return the objects that a record changed."""
    return list(_changed(effect))


def _changed(effect: Effect) -> Iterator[Touched]:
    for kind, key, old, new in effect.touched:
        before, after = kind.fields_of_two(old, new)
        if before != after:
            label = kind.label(effect.before if new is None else effect.after, key)
            yield Touched(kind.name, key, label, before, after, _outages(kind.name, new))


def objects_across(old: MetadataImage, new: MetadataImage) -> Iterator[Touched]:
    """Yield the objects that differ between the states before and after a gap in a recording."""
    for kind, key, value, later in touched_across(old, new):
        before, after = kind.fields_of_two(value, later)
        label = kind.label(old if later is None else new, key)
        if before is not None and after is not None:
            name = f"{kind.name}:{label}"
            same = {
                field
                for field in before.keys() & after.keys()
                if is_of_snapshot(name, before[field], after[field])
            }
            before, after = _without(before, same), _without(after, same)
        if before != after:
            yield Touched(kind.name, key, label, before, after, _outages(kind.name, later))


def _without(fields: Fields, names: Collection[str]) -> Fields:
    return {name: value for name, value in fields.items() if name not in names}


def _outages(kind: str, value: Any) -> tuple[str, ...]:
    if kind == "broker":
        return broker_kinds(value)
    return tuple(partition_kinds(value, 0)) if kind == "partition" and value is not None else ()
