"""Each field of each record reaches the image, or is named here as not part of it.

A field reaches the image if a record with another value in it gives other records in a checkpoint,
or contradicts the state. A field that no image has is lost with a checkpoint, a fork, an export.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, cast

import msgspec
import pytest

from records import registry
from records.avro.schema import UUID_NAME
from records.base import Record, Uuid
from records.control import NoteRecord
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.records import image_records
from replay.image.rules import RULES
from replay.time_travel.effects import WITHOUT_EFFECT
from replay.transactions import Transactions
from tests.histories import random_history

NOT_IN_THE_IMAGE = {
    "KRaftVersionRecord.version": "the layout of the message",
    "VotersRecord.version": "the layout of the message",
}

_CHANGING = [each for each in registry.RECORD_TYPES if each not in WITHOUT_EFFECT]

_VALUES: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, 77),
    "long": (0, 1, 77),
    "boolean": (False, True),
    "double": (0.5, 2.0),
    "string": ("", "another"),
    "bytes": (b"", b"another"),
    UUID_NAME: (Uuid(b"another id 12345"),),
}

Path = tuple[str, ...]
Placed = tuple[MetadataImage, Envelope]
"""A record, and the image before it."""


class _Leaf(msgspec.Struct, frozen=True):
    """Where a record has simple values; those of all items of a list have one path."""

    path: Path
    type: str
    is_item: bool


def _leaves(
    schema: Any, named: dict[str, Any], path: Path = (), *, is_item: bool = False
) -> Iterator[_Leaf]:
    """Yield the leaves of a type; `named` gets the nested types."""
    match schema:
        case [*_]:
            (other,) = [branch for branch in schema if branch != "null"]
            yield from _leaves(other, named, path)
        case {"type": "array", "items": items}:
            yield from _leaves(items, named, path, is_item=True)
        case {"type": "record", "fields": fields}:
            named[f"{schema.get('namespace')}.{schema['name']}"] = schema
            for field in fields:
                yield from _leaves(field["type"], named, (*path, field["name"]))
        case str() if schema in named:
            yield from _leaves(named[schema], named, path)
        case _:
            yield _Leaf(path, schema, is_item)


def _with(value: Any, path: Path, leaf: _Leaf, new: Any) -> Any:
    """Return a value with another one at the end of a path; of a list the first item changes."""
    if not path:
        return (new, *(value or ())[1:]) if leaf.is_item else new
    if isinstance(value, tuple):
        return (*(_with(item, path, leaf, new) for item in value[:1]), *value[1:])
    if value is None:
        return None
    of = getattr(value, path[0])
    return msgspec.structs.replace(value, **{path[0]: _with(of, path[1:], leaf, new)})


@cache
def _placed() -> dict[type[Record], list[Placed]]:
    """Return the records of some histories that take effect, by type."""
    found = defaultdict(list)
    for seed in range(4):
        image, transactions = MetadataImage.EMPTY, Transactions()
        for batch in random_history(random.Random(seed), 150):
            for row in transactions.effective(batch.rows):
                found[type(row.payload)].append((image, row))
                image = _after(image, row)
    return found


def _after(image: MetadataImage, row: Envelope) -> MetadataImage:
    delta = MetadataDelta(image)
    delta.replay(row)
    return delta.apply(Provenance())


def _dropped(schema: Any, placed: Iterable[Placed]) -> set[str]:
    """Return the fields of a record type whose values never matter."""
    return {
        ".".join((schema["name"], *leaf.path))
        for leaf in _leaves(schema, {})
        if not any(_matters(leaf, image, row) for image, row in placed)
    }


def _matters(leaf: _Leaf, image: MetadataImage, row: Envelope) -> bool:
    usual = list(image_records(_after(image, row)))
    for new in _VALUES[leaf.type]:
        record = _with(row.payload, leaf.path, leaf, new)
        try:
            after = _after(image, msgspec.structs.replace(row, payload=record))
        except ContradictionError:
            return True
        if list(image_records(after)) != usual:
            return True
    return False


@pytest.mark.parametrize("cls", _CHANGING)
def test_each_field_reaches_the_image(cls: type[Record]) -> None:
    schema = registry.schema(cls.__name__)
    known = {field for field in NOT_IN_THE_IMAGE if field.partition(".")[0] == schema["name"]}
    assert _dropped(schema, _placed()[cls]) == known


class _LongerNote(NoteRecord, frozen=True, kw_only=True):
    topic: str = ""


def test_a_new_field_that_the_image_drops_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast(Any, RULES), _LongerNote, RULES[NoteRecord])
    schema = registry.schema("NoteRecord")
    longer = {**schema, "fields": [*schema["fields"], {"name": "topic", "type": "string"}]}
    rows = [
        (image, msgspec.structs.replace(row, payload=_LongerNote(**msgspec.structs.asdict(note))))
        for image, row in _placed()[NoteRecord]
        if isinstance(note := row.payload, NoteRecord)
    ]
    assert _dropped(longer, rows) == {"NoteRecord.topic"}
