"""The table of parts is complete: no part, and no field of one, can be left out anywhere."""

from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from records.base import Uuid
from records.brokers import ControllerFeature
from replay.image.digest import PART_ROWS, row_text
from replay.image.metadata import MetadataImage
from replay.image.part_deltas import PartDeltas
from replay.image.parts import PARTS, Part
from replay.image.provenance import Provenance
from replay.snapshot.parts import STORED, Parts
from replay.time_travel.kinds import KINDS
from tests.replay.builders import uid
from tests.replay.image.documented import documented_image

IMAGE = documented_image()
# Printed in a form of their own: full names, counts, and values by their keys.
_PRINTED_OTHERWISE = {"topics", "configs", "features", "zk_migration"}
FIELDS = [
    (part, field)
    for part in PARTS.values()
    for field in part.row_type.__struct_fields__
    if field not in part.beside
]


def test_every_part_is_in_the_digest_in_snapshots_and_in_a_kind() -> None:
    assert set(PART_ROWS) == set(PARTS)
    assert set(STORED) == set(PARTS) - {"partitions"}  # stored with their topic
    assert sorted(part for kind in KINDS.values() for part in kind.parts) == sorted(PARTS)


def test_every_field_of_the_image_is_a_part_and_has_a_delta() -> None:
    fields = {field.removeprefix("_") for field in MetadataImage.__struct_fields__}
    # Partitions stand in the field of their topics.
    assert fields - {"provenance"} == {
        part.field or part.name for part in PARTS.values() if part.name != "partitions"
    }
    assert fields - {"provenance"} == set(get_type_hints(PartDeltas))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_every_key_is_made_of_fields(part: Part) -> None:
    assert set(part.key) <= set(part.row_type.__struct_fields__)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_every_part_gives_its_objects_by_key(part: Part) -> None:
    objects = list(part.objects(IMAGE))
    assert objects and all(type(each) is part.object_type for each in objects)
    assert [part.get(IMAGE, part.key_of(each)) for each in objects] == objects


def test_objects_of_all_parts_make_the_same_image() -> None:
    assert Parts.differing(MetadataImage.EMPTY, IMAGE)[1].image(IMAGE.provenance) == IMAGE
    assert Parts().image(Provenance()) == MetadataImage.EMPTY


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_every_field_of_an_object_is_printed(part: Part) -> None:
    (kind,) = (kind for kind in KINDS.values() if part.name in kind.parts)
    printed = [set(kind.fields(IMAGE, key) or ()) for key, _ in kind.objects(IMAGE)]
    assert printed and all(printed)
    wanted = set(part.object_type.__struct_fields__) - part.beside - part.later - set(part.key)
    if part.name not in _PRINTED_OTHERWISE:
        assert any(wanted <= fields for fields in printed)


@pytest.mark.parametrize(
    ("part", "field"), FIELDS, ids=[f"{part.name}.{field}" for part, field in FIELDS]
)
def test_every_field_changes_the_digest_and_the_record(part: Part, field: str) -> None:
    row = next(iter(part.rows(IMAGE)))
    other = _with_another(row, field)
    text = row_text(part)
    assert text(other) != text(row)
    if part.name != "pending_partition_removals":  # one record for several of them
        assert part.to_record(other) != part.to_record(row)


def _with_another(row: msgspec.Struct, field: str) -> msgspec.Struct:
    hint = get_type_hints(type(row))[field]
    return msgspec.structs.replace(row, **{field: _another(hint, getattr(row, field))})


def _another(hint: Any, value: Any) -> Any:
    """Return a different value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case bytes():
            return uid("another") if len(value) == len(uid("")) else value + b"x"
        case None:
            return uid("another") if Uuid in get_args(hint) else "x"
        case (_, *_):
            return ()
        case msgspec.Struct():
            return _with_another(value, value.__struct_fields__[0])
        case ():
            feature = ControllerFeature(name="x", min_supported_version=1, max_supported_version=2)
            elements = {int: 7, str: "x", Uuid: uid("another"), ControllerFeature: feature}
            return (elements[get_args(hint)[0]],)
    raise AssertionError(f"no other value of {hint}")
