"""Decoding of a batch's plain records in C, if the distribution `metalog-codec` is installed.

It stops before the first record that is not plain, so the decoder in Python alone knows unusual
forms and errors. Whether it is used at all is decided together with the compiled codec of rows
(`records/avro/compiled.py`).
"""

import functools
from typing import Any

from metadata_log.kraft_format.batch import BatchHeader
from metadata_log.kraft_format.record import encode_record
from records.avro import compiled
from records.control import NoOpRecord
from records.envelope import Envelope
from records.kafka.layout import (
    ArrayOf,
    Field,
    FieldType,
    Layout,
    has_version,
    layout,
    metadata_types,
)

_PLANS = 1
"""Version of the plans that this release makes; the compiled module names that which it reads."""

_VERSIONS = range(128)
"""Versions that take one byte of a frame."""


def decode(
    data: bytes, header: BatchHeader, position: int, offset_delta: int
) -> tuple[list[Envelope], int] | None:
    """Decode the plain data records of a batch from a position on.

    Args:
        offset_delta: Offset delta of the record at this position.

    Returns:
        The rows before the first record that is not plain, and the position after them; None if
        the decoder in Python must do all the work.
    """
    if not is_used():
        return None
    try:
        found: tuple[list[Envelope], int] = _made().decode(
            data,
            position,
            offset_delta,
            header.record_count,
            header.base_offset,
            header.leader_epoch,
            header.base_timestamp,
        )
    except compiled.REFUSED:
        return None
    return found


@functools.cache
def _module() -> Any:
    import metalog_kafka_codec

    return metalog_kafka_codec


def is_used() -> bool:
    """True if the compiled codec is used, and its decoder of batches fits this release."""
    return compiled.CHOICE.is_compiled and _fits()


@functools.cache
def _fits() -> bool:
    return compiled.fits(_module, _PLANS, _try_plans)


@functools.cache
def _made() -> Any:
    plans = {
        (api_key, version): _plan(layout(cls, version))
        for api_key, cls in metadata_types().items()
        for version in _VERSIONS
        if has_version(cls, version)
    }
    return _module().Rows(Envelope, plans)


# A codec must not misread columns.
def _try_plans() -> None:
    """Make the plans of all records, and decode a row that has to come back as it was.

    Raises:
        Exception: any error; the compiled module does not fit this release.
    """
    row = Envelope(
        offset=6,
        leader_epoch=2,
        timestamp=3,
        batch_offset=5,
        record_version=0,
        payload=NoOpRecord(),
    )
    data = encode_record(row, 1)
    found = _made().decode(data, 0, 1, 2, row.batch_offset, row.leader_epoch, row.timestamp)
    if found != ([row], len(data)):
        raise ValueError(f"it decodes {row} as {found}")


def _plan(of: Layout) -> Any:
    if not of.flexible:
        raise ValueError(f"{of.cls.__name__} has the older encoding")
    present = {field.name for field in (*of.fields, *of.tagged)}
    return _module().Plan(
        of.cls,
        tuple(name for name in of.cls.__struct_fields__ if name in present),
        tuple((field.name, _type_of(field)) for field in of.fields),
        tuple((field.tag, field.name, _type_of(field), field.default) for field in of.tagged),
    )


def _type_of(field: Field) -> Any:
    return _type(field.type, nullable=field.nullable)


def _type(type_: FieldType, *, nullable: bool) -> Any:
    match type_:
        case ArrayOf(item):
            return _module().Type("array", nullable, _type(item, nullable=False))
        case Layout():
            return _module().Type("structure", nullable, None, _plan(type_))
    return _module().Type(type_, nullable)
