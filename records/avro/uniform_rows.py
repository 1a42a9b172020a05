"""Fast decoder for batches whose rows differ only in offset, record version and record.

In most batches, this is true of all rows but the first. These rows are found by splitting the batch
at the bytes that they share. A record of a partition is built from an earlier record with the same
bytes after the topic's id, because the same few changes occur in many partitions.
"""

import functools
from typing import Any

from msgspec.structs import replace

from records import registry
from records.avro import codec, compiled
from records.avro.generated import Decoder
from records.avro.layout import NEWEST, Layout
from records.envelope import Envelope, Origin
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.varint import LONGS, consecutive_longs, decode_long

# Decoding fewer rows one by one takes less time than splitting them.
_ROWS_MIN = 4
_OFFSET_MAX = 1 << 62
_UUID_SIZE = 16
_TEMPLATES_MAX = 16_384
_HEADS_MAX = 256

# Their first fields are partition_id and topic_id.
_OF_PARTITIONS = (PartitionRecord, PartitionChangeRecord)


def decode_rows(data: bytes, count: int, layout: Layout = NEWEST) -> list[Envelope]:
    """Decode `count` rows of any form, as `codec.decode_rows` does.

    Raises:
        CorruptLogError: the bytes are not exactly `count` rows; names the byte within `data`.
    """
    # The compiled codec decodes rows of any form faster than these are split.
    if count >= _ROWS_MIN and not compiled.CHOICE.is_compiled:
        try:
            return _decoded(data, count, layout)
        except codec.DECODE_ERRORS:
            pass  # not uniform, or damaged
    return codec.decode_rows(data, count, layout)


def _decoded(data: bytes, count: int, layout: Layout) -> list[Envelope]:
    """Decode `count` uniform rows.

    Raises:
        DECODE_ERRORS: the rows are not uniform, or damaged.
    """
    first, position = codec.decode_first(data, layout)
    bodies, offset_size = _split(data[position:], count, first)
    heads = _heads(_between(bodies[0], layout), layout)
    size, offset = heads.size, first.offset
    epoch, time, base = first.leader_epoch, first.timestamp, first.batch_offset
    origin = first.origin if heads.origin == first.origin else heads.origin
    rows = [first]
    add = rows.append
    for body in bodies:
        version, decode, templates = heads[body[:size]]
        if templates is None:
            record, end = decode(body, size)
        else:
            partition_id, at = body[size] >> 1, size + 1
            if body[size] & 0x81:  # not one byte, or negative
                partition_id, at = decode_long(body, size)
            rest = body[at + _UUID_SIZE : -offset_size]
            template = templates.get(rest)
            if template is None:
                record, end = decode(body, size)
                if end == len(body) - offset_size:
                    templates[rest] = record
            else:
                topic_id, end = body[at : at + _UUID_SIZE], len(body) - offset_size
                record = replace(template, partition_id=partition_id, topic_id=topic_id)
        if end != len(body) - offset_size:
            raise ValueError(f"the record ends at byte {end} of the row's {len(body)}")
        offset += 1
        add(
            Envelope(
                offset=offset,
                leader_epoch=epoch,
                timestamp=time,
                batch_offset=base,
                record_version=version,
                origin=origin,
                payload=record,
            )
        )
    return rows


def _split(data: bytes, count: int, first: Envelope) -> tuple[list[bytes], int]:
    """Split the rows after the first one at the bytes that all share (epoch, time, base offset).

    Args:
        count: Number of rows, with the first one.

    Returns:
        Each row from its `record_version` on, followed by the offset of the next row; and the size
        of such an offset.

    Raises:
        ValueError: the other rows do not continue the batch of the first row.
    """
    if not 0 <= first.offset < _OFFSET_MAX or first.timestamp < codec.ONE_BYTE:
        raise ValueError("the rows cannot be split at their common bytes")
    stamp = LONGS[first.leader_epoch] + LONGS[first.timestamp] + LONGS[first.batch_offset]
    offsets = consecutive_longs(first.offset + 1, count)
    before, *bodies = (data + offsets[-1]).split(stamp)
    size = len(offsets[0])
    if before != offsets[0] or len(bodies) != count - 1 or len(offsets[-1]) != size:
        raise ValueError(
            "the rows do not all have the first row's epoch, time and base offset, or offsets of "
            "one size"
        )
    if not all(map(bytes.endswith, bodies, offsets[1:])):
        raise ValueError("the rows' offsets are not consecutive")
    return bodies, size


def _between(body: bytes, layout: Layout) -> bytes:
    """Return the bytes between a row's version and its record; only an origin may be set there.

    Raises:
        DECODE_ERRORS: another field is set between them, or the row is damaged.
    """
    nulls = codec.nulls_of(layout)
    _, origin_end = codec.optional(body, 1, codec.decoder_of("origin"))
    end = origin_end + len(nulls) - 1
    if body[origin_end:end] != nulls[1:]:
        raise ValueError("the row has optional fields other than origin")
    return body[1:end]


class _Templates(dict[bytes, Any]):
    """Decoded records of partitions of one type, by their bytes after the topic's id."""

    def __setitem__(self, rest: bytes, record: Any) -> None:
        if len(self) >= _TEMPLATES_MAX:
            self.clear()
        super().__setitem__(rest, record)


_Kind = tuple[int, Decoder, _Templates | None]
"""Version and decoder of a row's record; also the templates if the record is about a partition."""


class _Heads(dict[bytes, _Kind]):
    """The beginnings of uniform rows, up to the record's fields.

    Attributes:
        size: Size of each beginning in bytes.
        origin: The origin that all rows have.
    """

    def __init__(self, between: bytes, layout: Layout) -> None:
        super().__init__()
        self.size = 1 + len(between) + 1
        self.origin: Origin | None
        self.origin, _ = codec.optional(between, 0, codec.decoder_of("origin"))
        self._between = between
        self._layout = layout

    def __missing__(self, head: bytes) -> _Kind:
        version, branch = head[0], head[-1]
        is_short = not (version | branch) & 0x81  # each one byte, and not negative
        if not is_short or head[1:-1] != self._between or branch >> 1 >= self._layout.type_count:
            raise ValueError("the row's version or record type is not encoded like the first row's")
        found = self[head] = (version >> 1, *_decoder_of(branch >> 1, self._layout))
        return found


_heads = functools.lru_cache(_HEADS_MAX)(_Heads)


@functools.cache
def _decoder_of(branch: int, layout: Layout) -> tuple[Decoder, _Templates | None]:
    is_of_partition = registry.RECORD_TYPES[branch] in _OF_PARTITIONS
    decode = codec.decoders_of(layout.field_count)[branch]
    return decode, _Templates() if is_of_partition else None
