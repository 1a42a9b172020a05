"""Encoder and decoder for the rows of a batch, fast enough for replay.

`reference.py` does the same through fastavro; the two agree byte for byte and value for value.
"""

import functools
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from records import registry
from records.avro import compiled, generated
from records.avro.arrays import INTS
from records.avro.layout import NEWEST, Layout
from records.base import Record
from records.envelope import Asked, Envelope, Extra, Kept, Origin
from records.errors import CorruptLogError
from records.varint import LONGS, decode_long, encode_long

_FIELDS = tuple(field["name"] for field in registry.schema("Envelope")["fields"])
# The loops below rely on this order, which must be that of the schema.
assert Envelope.__struct_fields__ == _FIELDS

# The nullable structures after `previous_crc32c`, in order.
_OPTIONAL: dict[str, type[Record]] = {
    "origin": Origin,
    "extra": Extra,
    "asked": Asked,
    "kept": Kept,
}
SIX_NULLS = bytes(6)
_FOUR_NULLS = bytes(4)
ONE_BYTE = 64
"""The lowest positive integer whose encoding takes more than one byte."""
DECODE_ERRORS = (IndexError, ValueError, struct.error, CorruptLogError)


@functools.cache
def _nested_schema(field: str) -> dict[str, object]:
    (found,) = [f for f in registry.schema("Envelope")["fields"] if f["name"] == field]
    _, schema = found["type"]
    assert isinstance(schema, dict)
    return schema


@functools.cache
def encoder_of(field: str) -> generated.Encoder:
    """Return the encoder of a nullable envelope field; it writes the union branch, too."""
    return generated.encoder(_nested_schema(field), _OPTIONAL[field], LONGS[1])


@functools.cache
def decoder_of(field: str) -> generated.Decoder:
    """Return the decoder of a nullable envelope field; it starts after the union branch."""
    return generated.decoder(_nested_schema(field), _OPTIONAL[field])


@functools.cache
def encoders_of(field_count: int) -> generated.PayloadEncoders:
    """Return the encoders for records with only some of the fields that later releases added.

    Args:
        field_count: The records have the first `field_count` of `layout.ADDED_FIELDS`.
    """
    return generated.PayloadEncoders(Layout(field_count=field_count))


@functools.cache
def decoders_of(field_count: int, *, strict: bool = False) -> generated.PayloadDecoders:
    """Return the decoders for records with only some of the fields that later releases added.

    Args:
        field_count: The records have the first `field_count` of `layout.ADDED_FIELDS`.
        strict: Accept only the encoding that our encoders write (`records.avro.strict`).
    """
    return generated.PayloadDecoders(Layout(field_count=field_count), strict=strict)


def nulls_of(layout: Layout) -> bytes:
    """Return the encoding of a row's fields between its version and its record, all null."""
    return SIX_NULLS if layout.has_added_fields else _FOUR_NULLS


# Times and durable ends are large and shared by all batches of a group. Without this cache, batches
# of one record take 1.5 times as long (measured).
_repeated_long = functools.lru_cache(256)(encode_long)


def encode_rows(rows: Sequence[Envelope], layout: Layout = NEWEST) -> bytes:
    """Return the body of one block: the rows in Avro, one after the other.

    Fields that `layout` lacks are left out.
    """
    found: bytes | None = compiled.attempt("encode", layout, rows)
    return _encode_rows(rows, layout) if found is None else found


def _encode_rows(rows: Sequence[Envelope], layout: Layout) -> bytes:
    encoders, origins = encoders_of(layout.field_count), _OriginBytes()
    has_added_fields = layout.has_added_fields
    nulls = nulls_of(layout)
    # Most rows of a batch have the same origin and nothing else beside the record.
    usual_origin, usual = None, nulls
    parts: list[bytes] = []
    add = parts.append
    leader_epoch = timestamp = batch_offset = None
    stamp = b""
    for row in rows:
        if (
            row.batch_offset != batch_offset
            or row.timestamp != timestamp
            or row.leader_epoch != leader_epoch
        ):
            leader_epoch, timestamp, batch_offset = (
                row.leader_epoch,
                row.timestamp,
                row.batch_offset,
            )
            offset = LONGS[row.offset]
            base = offset if row.offset == batch_offset else LONGS[batch_offset]
            stamp = INTS[leader_epoch] + _repeated_long(timestamp) + base
            add(offset)
        else:
            add(LONGS[row.offset])
        add(stamp)
        add(INTS[row.record_version])
        origin, extra, asked, kept = row.origin, row.extra, row.asked, row.kept
        crc32c = row.previous_crc32c
        durable_end = row.durable_end
        if (
            extra is None
            and crc32c is None
            and durable_end is None
            and asked is None
            and kept is None
        ):
            if origin is not usual_origin:
                usual_origin = origin
                usual = nulls if origin is None else origins[origin] + nulls[1:]
            add(usual)
        else:
            add(LONGS[0] if origin is None else origins[origin])
            add(b"\0" if durable_end is None else b"\2" + _repeated_long(durable_end))
            add(b"\0" if crc32c is None else b"\2" + LONGS[crc32c])
            add(LONGS[0] if extra is None else encoder_of("extra")(extra))
            if has_added_fields:
                add(LONGS[0] if asked is None else encoder_of("asked")(asked))
                add(LONGS[0] if kept is None else encoder_of("kept")(kept))
        payload = row.payload
        add(encoders[type(payload)](payload))
    return b"".join(parts)


def payload_size(record: Record) -> int:
    """Return the size of a record in Avro, without its envelope, in bytes."""
    found: bytes | None = compiled.attempt("encode_record", NEWEST, record)
    return len(found or encoders_of(NEWEST.field_count)[type(record)](record))


class _OriginBytes(dict[Origin, bytes]):
    """Cache of encoded origins for one batch; usually all rows share one origin."""

    def __missing__(self, origin: Origin) -> bytes:
        encoded = self[origin] = encoder_of("origin")(origin)
        return encoded


def decode_rows(data: bytes, count: int, layout: Layout = NEWEST) -> list[Envelope]:
    """Decode `count` rows written with a schema of this layout.

    Raises:
        CorruptLogError: the bytes are not exactly `count` rows; names the byte within `data`.
    """
    found: list[Envelope] | None = compiled.attempt("decode", layout, data, count)
    if found is not None:
        return found
    try:
        rows, position = _decode_rows(data, count, layout)
    except DECODE_ERRORS as error:
        raise CorruptLogError(f"rows of a batch cannot be read: {error}") from error
    if position != len(data):
        raise CorruptLogError(
            f"{count} rows end at byte {position}, but there are {len(data)} bytes"
        )
    return rows


# Integers of at most 63 bits, which are all that occur.
_INTEGER = rb"[\x80-\xff]{0,8}[\x00-\x7f]"
_LONG_TIME = rb"[%s][\x80-\xff]{0,7}[\x00-\x7f]" % b"".join(
    b"\\x%02x" % low for low in range(0x80, 0x100, 2)
)
_BEGINNING = re.compile(_INTEGER + b"(" + _INTEGER + _LONG_TIME + _INTEGER + b")")
"""Matches offset, epoch, time and base offset of a row whose time is at least ONE_BYTE."""

_FIRST_OF_BATCH = re.compile(
    rb"[\x00-\x7f]\x00\x02" + _INTEGER + rb"\x02" + _INTEGER + rb"\x00\x00\x00"
)
"""Matches a row from its version to its record, with `durable_end` and `previous_crc32c` only."""


def holds_record(data: bytes, count: int, beginnings: Mapping[int, tuple[bytes, ...]]) -> bool:
    """True if a batch contains one of the wanted records, recognized by their first bytes.

    Also True if the batch cannot be searched: its rows are damaged, or its time is before
    1970-01-01T00:00:00.064. The encoding of such a time is so short that it may occur anywhere by
    chance.

    Rows are found by searching for the bytes that all rows of a batch share (epoch, time, base
    offset). This is exact and much cheaper than decoding.

    Args:
        data: `count` rows of the newest layout, of one batch.
        beginnings: The possible first bytes of the wanted records, by record type. A type is given
            by the byte that encodes its position in the registry.
    """
    try:
        rows = _split(data)
        if len(rows) != count:
            return True
        if _begins_so(rows[0], beginnings):
            return True
        others = rows[1:]
        return _may_begin_so(others, beginnings) and any(
            _begins_so(row, beginnings) for row in others
        )
    except DECODE_ERRORS:
        return True


def _may_begin_so(rows: Sequence[bytes], beginnings: Mapping[int, tuple[bytes, ...]]) -> bool:
    """True if a row may have a wanted record type; a quick check before the exact search.

    It compares only the distinct beginnings of rows: in a batch, rows differ little before the
    fields of their records.
    """
    if not rows:
        return False
    at = _payload_position(rows[0])
    between = rows[0][1:at]
    heads = {row[: at + 1] for row in rows}
    return rows[0][0] >= 0x80 or any(
        not head.startswith(between, 1) or head[at] in beginnings for head in heads
    )


def _begins_so(row: bytes, beginnings: Mapping[int, tuple[bytes, ...]]) -> bool:
    at = _payload_position(row)
    expected = beginnings.get(row[at])
    return expected is not None and row.startswith(expected, at + 1)


def _split(data: bytes) -> list[bytes]:
    """Split a batch into rows, at the bytes that all rows share (epoch, time, base offset).

    Each returned row starts at its `record_version`, after these bytes, and ends with the offset of
    the next row. Returns an empty list if the encoding of the time is too short to search for.
    """
    # A longer time contains bytes with and without a high bit, so it cannot overlap itself.
    found = _BEGINNING.match(data)
    return [] if found is None else data[found.end() :].split(found[1])


def _payload_position(row: bytes) -> int:
    """Return the position of the record in a row of the newest layout that `_split` returned."""
    if row.startswith(SIX_NULLS, 1) and row[0] < 0x80:
        return 1 + len(SIX_NULLS)
    first = _FIRST_OF_BATCH.match(row)
    if first is not None:
        return first.end()
    _, position = decode_long(row, 0)
    for field in _fields_before_payload():
        _, position = optional(row, position, field)
    return position


@functools.cache
def _fields_before_payload() -> tuple[generated.Decoder, ...]:
    origin, extra, asked, kept = map(decoder_of, ("origin", "extra", "asked", "kept"))
    return origin, decode_long, decode_long, extra, asked, kept


def holds_unknown_tags(data: bytes, count: int) -> bool:
    """True if a row of a batch has unknown tags, or if the batch cannot be searched.

    Finds the rows as `holds_record` does, without decoding records.
    """
    try:
        rows = _split(data)
        return len(rows) != count or any(map(_has_unknown_tags, rows))
    except DECODE_ERRORS:
        return True


def _has_unknown_tags(row: bytes) -> bool:
    if row.startswith(SIX_NULLS, 1) and row[0] < 0x80:
        return False
    _, position = decode_long(row, 0)
    for field in _fields_before_payload()[:3]:
        _, position = optional(row, position, field)
    extra, _ = optional(row, position, decoder_of("extra"))
    return extra is not None and bool(extra.unknown_tags)


def decode_first(data: bytes, layout: Layout) -> tuple[Envelope, int]:
    """Decode the first row only; return it and the position after it.

    Raises:
        DECODE_ERRORS: the row is damaged.
    """
    rows, position = _decode_rows(data, 1, layout)
    return rows[0], position


def _decode_rows(data: bytes, count: int, layout: Layout) -> tuple[list[Envelope], int]:
    decoders = decoders_of(layout.field_count)
    type_count, has_added_fields = layout.type_count, layout.has_added_fields
    nulls = nulls_of(layout)
    null_count = len(nulls)
    rows: list[Envelope] = []
    position = 0
    # Epoch, time and base offset are the same in all rows of a batch: compare, do not decode.
    stamp = b""
    leader_epoch = timestamp = batch_offset = 0
    origin_bytes, origin = b"", None
    with_origin = b""  # the same origin, and nothing else beside the record
    for _ in range(count):
        offset, position = decode_long(data, position)
        if stamp and data.startswith(stamp, position):
            position += len(stamp)
        else:
            start = position
            leader_epoch, position = decode_long(data, position)
            timestamp, position = decode_long(data, position)
            batch_offset, position = decode_long(data, position)
            stamp = data[start:position]
        record_version = data[position]
        if record_version & 0x81:
            record_version, position = decode_long(data, position)
        else:  # one byte, not negative
            record_version >>= 1
            position += 1
        durable_end = previous_crc32c = extra = asked = kept = None
        if data.startswith(nulls, position):
            row_origin = None
            position += null_count
        elif with_origin and data.startswith(with_origin, position):
            row_origin = origin
            position += len(with_origin)
        else:
            if origin_bytes and data.startswith(origin_bytes, position):
                row_origin = origin
                position += len(origin_bytes)
            else:
                start = position
                row_origin, position = optional(data, position, decoder_of("origin"))
                if row_origin is not None:
                    origin, origin_bytes = row_origin, data[start:position]
                    with_origin = origin_bytes + nulls[1:]
            durable_end, position = optional(data, position, decode_long)
            previous_crc32c, position = optional(data, position, decode_long)
            extra, position = optional(data, position, decoder_of("extra"))
            if has_added_fields:
                asked, position = optional(data, position, decoder_of("asked"))
                kept, position = optional(data, position, decoder_of("kept"))
        branch = data[position]
        if branch & 0x81:
            branch, position = decode_long(data, position)
        else:
            branch >>= 1
            position += 1
        if not 0 <= branch < type_count:
            raise ValueError(f"record type number {branch} is unknown")
        payload, position = decoders[branch](data, position)
        rows.append(
            Envelope(
                offset=offset,
                leader_epoch=leader_epoch,
                timestamp=timestamp,
                batch_offset=batch_offset,
                record_version=record_version,
                origin=row_origin,
                durable_end=durable_end,
                previous_crc32c=previous_crc32c,
                extra=extra,
                asked=asked,
                kept=kept,
                payload=payload,
            )
        )
    return rows, position


def optional(data: bytes, position: int, decode: generated.Decoder) -> tuple[Any, int]:
    """Read a nullable value; return it and the position after it."""
    branch = data[position]
    if branch == 0:
        return None, position + 1
    if branch != 2:
        raise ValueError(f"byte {position} is 0x{branch:02x}, which is not a union branch")
    return decode(data, position + 1)
