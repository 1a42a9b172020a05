"""Fast codec for plain rows: rows of one batch that have only a record and the batch's origin.

Such rows differ only in offset, record version and record, so all bytes between are encoded or
compared once per batch. If all rows have the form that `encode_rows` writes, decoding also keeps
the encoded bytes of their records.
"""

from collections.abc import Sequence
from itertools import chain

import msgspec

from records import registry
from records.avro import codec, compiled
from records.avro.arrays import INTS
from records.avro.generated import Decoder
from records.avro.layout import NEWEST, Layout
from records.avro.strict import UnusualEncodingError, strict_long
from records.base import Record
from records.envelope import Origin
from records.varint import LONGS, consecutive_longs, decode_long


class Place(msgspec.Struct, frozen=True):
    """Offset of the first row, and the values that all rows of its batch share."""

    offset: int = 0
    leader_epoch: int = 0
    timestamp: int = 0
    batch_offset: int = 0


START = Place()
"""The place of rows that are not in a log yet: offset, epoch and time are 0."""


class PlainRows(msgspec.Struct, frozen=True):
    """Decoded rows, and the origin of the first one.

    `payloads` are the encoded records, with their union branch, as `encode_rows` writes them in the
    newest layout; empty if a row has another form.
    """

    records: tuple[Record, ...]
    versions: tuple[int, ...]
    origin: Origin | None
    payloads: tuple[bytes, ...]


def encode_records(
    records: Sequence[Record],
    versions: Sequence[int],
    *,
    place: Place = START,
    origin: Origin | None = None,
    layout: Layout = NEWEST,
    payloads: Sequence[bytes] = (),
) -> bytes:
    """Encode records as the rows of one batch, into the same bytes as `codec.encode_rows`.

    Args:
        versions: The layout version of each record.
        place: Offset, epoch and time of the first record; the other records have the next offsets.
        payloads: The encoded records as `decode_records` returned them; written unchanged.
    """
    heads = _Heads(place, origin, layout)
    found: bytes | None = compiled.attempt(
        "encode_records", layout, records, versions, place.offset, *heads.around, payloads
    )
    if found is not None:
        return found
    encoders = codec.encoders_of(layout.field_count)
    parts = zip(
        consecutive_longs(place.offset, len(records)),
        [heads[version] for version in versions],
        payloads or [encoders[type(record)](record) for record in records],
        strict=True,
    )
    return b"".join(chain.from_iterable(parts))


class _Heads(dict[int, bytes]):
    """Table of the bytes between a row's offset and its record, by record version."""

    def __init__(self, place: Place, origin: Origin | None, layout: Layout) -> None:
        super().__init__()
        stamp = LONGS[place.timestamp] + LONGS[place.batch_offset]
        self._before = INTS[place.leader_epoch] + stamp
        encoded = LONGS[0] if origin is None else codec.encoder_of("origin")(origin)
        self._after = encoded + codec.nulls_of(layout)[1:]

    @property
    def around(self) -> tuple[bytes, bytes]:
        """The bytes before and after the record version."""
        return self._before, self._after

    def __missing__(self, version: int) -> bytes:
        head = self[version] = self._before + INTS[version] + self._after
        return head


def decode_records(data: bytes, count: int, layout: Layout = NEWEST) -> PlainRows:
    """Decode the records of `count` rows written with a schema of this layout.

    Raises:
        CorruptLogError: the bytes are not exactly `count` rows; names the byte within `data`.
    """
    if layout.field_count == NEWEST.field_count:  # otherwise some payloads lack fields
        found = compiled.attempt("decode_records", layout, data, count)
        if found is not None:
            return PlainRows(*found)
    try:
        return _decoded(data, count, layout)
    except codec.DECODE_ERRORS:  # unusual, or damaged
        rows = codec.decode_rows(data, count, layout)
    return PlainRows(
        records=tuple([row.payload for row in rows]),
        versions=tuple([row.record_version for row in rows]),
        origin=rows[0].origin if rows else None,
        payloads=(),
    )


def _decoded(data: bytes, count: int, layout: Layout) -> PlainRows:
    """Decode plain rows as `decode_records` does.

    Raises:
        DECODE_ERRORS: any of these errors, if a row is not plain.
    """
    records: list[Record] = []
    versions: list[int] = []
    payloads: list[bytes] = []
    heads: list[_Head] = []
    between, position = b"", 0
    for _ in range(count):
        if data[position] < 0x80:
            position += 1
        elif data[position + 1] < 0x80:
            position += 2
        else:
            _, position = decode_long(data, position)
        if not heads or not data.startswith(between, position):
            head = _head_at(data, position, layout)
            heads.append(head)
            between, size, version, decode = head.content, head.size, head.version, head.decode
        start = position + size
        record, position = decode(data, position + len(between))
        records.append(record)
        versions.append(version)
        payloads.append(data[start:position])
    if position != len(data):
        raise ValueError(f"{count} rows end at byte {position}, but there are {len(data)} bytes")
    origin = heads[0].origin if heads else None
    return PlainRows(tuple(records), tuple(versions), origin, tuple(payloads))


class _Head(msgspec.Struct, frozen=True):
    """The bytes between a row's offset and the fields of its record, and the values they encode.

    `content` ends with the record's union branch; `size` is its length without that branch.
    """

    content: bytes
    size: int
    version: int
    origin: Origin | None
    decode: Decoder


def _head_at(data: bytes, start: int, layout: Layout) -> _Head:
    _, position = decode_long(data, start)
    _, position = decode_long(data, position)
    _, position = decode_long(data, position)
    version, position = decode_long(data, position)
    origin, position = codec.optional(data, position, codec.decoder_of("origin"))
    nulls = codec.nulls_of(layout)[1:]
    if not data.startswith(nulls, position):
        raise UnusualEncodingError(f"the row at byte {start} has optional fields besides origin")
    position += len(nulls)
    branch, end = strict_long(data, position)
    if not 0 <= branch < layout.type_count:
        raise ValueError(f"record type number {branch} is unknown")
    if layout.missing_fields(registry.RECORD_TYPES[branch].__name__):
        raise UnusualEncodingError("the stored layout lacks fields of the record")
    return _Head(
        content=data[start:end],
        size=position - start,
        version=version,
        origin=origin,
        decode=codec.decoders_of(layout.field_count, strict=True)[branch],
    )
