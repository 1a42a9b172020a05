"""Every field of every record type reaches the image and its checkpoint, or is declared here as
not part of it.

Each record of a history is replayed as it is and with one field changed: the images must differ, or
the rule must find the change contradictory.
"""

import random
import typing
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from metadata_log.format.batch import Batch
from records import control, registry
from records.base import Record
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS, Part
from replay.image.provenance import Provenance
from replay.image.records import image_records
from replay.loader import Replayer
from tests.golden.requests import filled
from tests.histories import random_history
from tests.replay.builders import batch

_NOT_IN_THE_IMAGE: dict[type[Record], set[str]] = {
    # Kept as names and places of the open transaction, which is no object.
    control.BeginTransactionRecord: {"name"},
    control.EndTransactionRecord: {"placeholder"},
    control.AbortTransactionRecord: {"reason"},
    # Who leads the quorum is known from the leader epoch of each batch.
    control.LeaderChangeMessage: {"version", "leader_id", "voters", "granting_voters"},
    # The frame of a checkpoint, never within a log.
    control.SnapshotHeaderRecord: {"version", "last_contained_log_timestamp"},
    control.SnapshotFooterRecord: {"version"},
    # Versions of the record's own layout.
    control.KRaftVersionRecord: {"version"},
    control.VotersRecord: {"version"},
    # Without effect by definition; their offsets and times are the image's provenance.
    control.NoOpRecord: {"placeholder"},
    control.NoOpRunRecord: {"count", "batch_count", "last_timestamp"},
    # What is not understood is counted, and not interpreted.
    control.UnknownRecord: {"api_key", "record_version", "value", "control_key"},
}

_EXAMPLES_MAX = 12
_BATCH_ROWS_MAX = 20


def test_every_field_reaches_the_image_or_is_declared() -> None:
    reached: dict[type[Record], set[str]] = defaultdict(set)
    for image, rows, number in _examples():
        record = rows[number].payload
        before = _objects(_after(image, rows))
        for name, value in _changed_fields(record):
            if name in reached[type(record)]:
                continue
            changed = list(rows)
            payload = msgspec.structs.replace(record, **{name: value})
            changed[number] = msgspec.structs.replace(rows[number], payload=payload)
            try:
                after = _after(image, changed)
            except ContradictionError:
                reached[type(record)].add(name)
                continue
            if _objects(after) != before:
                reached[type(record)].add(name)
                assert _objects(_copy(after)) == _objects(after), (type(record), name)
    missed = {
        cls: names
        for cls in registry.RECORD_TYPES
        if (names := set(cls.__struct_fields__) - reached[cls])
    }
    assert missed == _NOT_IN_THE_IMAGE


def _examples() -> Iterator[tuple[MetadataImage, tuple[Envelope, ...], int]]:
    """Yield some batches with each record type: image before, rows, and the record's place."""
    replayer = Replayer()
    seen: dict[type[Record], int] = defaultdict(int)
    for each in random_history(random.Random(1), 3_000):
        image = replayer.image()
        if _is_plain(image, each):
            for number, row in enumerate(each.rows):
                seen[type(row.payload)] += 1
                if seen[type(row.payload)] <= _EXAMPLES_MAX:
                    yield image, each.rows, number
        replayer.replay(each)


def _is_plain(image: MetadataImage, each: Batch) -> bool:
    """True if a batch is in no transaction, and is short."""
    boundaries = (
        control.BeginTransactionRecord,
        control.EndTransactionRecord,
        control.AbortTransactionRecord,
    )
    return (
        image.provenance.pending_transaction is None
        and len(each.rows) <= _BATCH_ROWS_MAX
        and not any(isinstance(row.payload, boundaries) for row in each.rows)
    )


def _after(image: MetadataImage, rows: typing.Iterable[Envelope]) -> MetadataImage:
    delta = MetadataDelta(image)
    for row in rows:
        delta.replay(row)
    return delta.apply(Provenance(offset=row.offset))


def _copy(image: MetadataImage) -> MetadataImage:
    """Return the image that the records of a checkpoint recreate."""
    delta = MetadataDelta(MetadataImage.EMPTY)
    for record, version in image_records(image):
        (row,) = batch(0, record).rows
        delta.replay(msgspec.structs.replace(row, record_version=version))
    return delta.apply(Provenance(offset=0))


def _objects(image: MetadataImage) -> dict[str, list[str]]:
    """Return the rows of each part, without the offsets at which they changed."""
    return {
        name: sorted(
            repr({field: getattr(row, field) for field in _digested(row, part)})
            for row in part.rows(image)
        )
        for name, part in PARTS.items()
    }


def _digested(row: Any, part: Part) -> Iterator[str]:
    return (field for field in row.__struct_fields__ if field not in part.beside)


def _changed_fields(record: Record) -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(type(record))
    for name in record.__struct_fields__:
        yield name, _changed(getattr(record, name), hints[name])


def _changed(value: Any, hint: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 2  # -1 is often "as before", and 0 what was before
        case str():
            return f"{value}x"
        case bytes() if value:
            return type(value)(bytes([value[0] ^ 1]) + value[1:])
        case tuple() if value:
            return value[:-1]
        case msgspec.Struct():
            name, changed = next(_changed_fields(typing.cast(Record, value)))
            return msgspec.structs.replace(value, **{name: changed})
    return filled(hint)
