"""Encoding and decoding of record batches for tests."""

import struct
from collections.abc import Callable

from metadata_log.kraft_format.batch import (
    CRC_START,
    HEADER,
    HEADER_SIZE,
    MAGIC,
    crc_of,
    parse_header,
)
from records.varint import decode_long, encode_long


def batch(*values: bytes, timestamp: int = 1_700_000_000_000) -> bytes:
    """Return one batch, as a client sends it."""
    records = b"".join(_record(delta, value) for delta, value in enumerate(values))
    return _batch(records, len(values), timestamp, timestamp)


def numbered_batch(count: int, *, producer_id: int, epoch: int, sequence: int) -> bytes:
    """Return a batch of an idempotent producer whose first record has the sequence number
    `sequence`.
    """
    records = b"".join(_record(delta, b"x") for delta in range(count))
    return _batch(records, count, 1_000, 1_000, producer=(producer_id, epoch, sequence))


def timed_batch(
    *timestamps: int,
    codec: int = 0,
    compress: Callable[[bytes], bytes] = bytes,
    attributes: int = 0,
    max_timestamp: int | None = None,
    offset_deltas: tuple[int, ...] | None = None,
) -> bytes:
    """Return one batch with a record for each timestamp.

    Args:
        codec: Number of the compression codec in the header.
        compress: Compresses with this codec.
        offset_deltas: Offset delta of each record; None for 0, 1, 2 and so on.
    """
    first = timestamps[0]
    deltas = range(len(timestamps)) if offset_deltas is None else offset_deltas
    records = b"".join(
        _record(delta, b"x", timestamp - first)
        for delta, timestamp in zip(deltas, timestamps, strict=True)
    )
    last = max(timestamps) if max_timestamp is None else max_timestamp
    return _batch(compress(records), len(timestamps), first, last, attributes | codec)


def _batch(
    records: bytes,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    raw = HEADER.pack(
        *(0, HEADER_SIZE - 12 + len(records), -1, MAGIC, 0, attributes, count - 1),
        *(base_timestamp, max_timestamp, *producer, count),
    )
    raw += records
    return raw[: CRC_START - 4] + struct.pack(">I", crc_of(raw)) + raw[CRC_START:]


def values(data: bytes) -> list[bytes]:
    """Return the values in batches, in order."""
    found = []
    while data:
        header = parse_header(data)
        position = HEADER_SIZE
        for _ in range(header.record_count):
            value, position = _value(data, position)
            found.append(value)
        data = data[header.size :]
    return found


def _record(offset_delta: int, value: bytes, timestamp_delta: int = 0) -> bytes:
    body = b"\0" + encode_long(timestamp_delta) + encode_long(offset_delta) + encode_long(-1)
    body += encode_long(len(value)) + value + encode_long(0)
    return encode_long(len(body)) + body


def _value(data: bytes, position: int) -> tuple[bytes, int]:
    length, position = decode_long(data, position)
    end = position + length
    _, position = decode_long(data, position + 1)  # time, after the attributes
    _, position = decode_long(data, position)  # offset
    _, position = decode_long(data, position)  # no key
    size, position = decode_long(data, position)
    return data[position : position + size], end
