"""One record inside a batch: lengths, key, value and headers around the value of the record.

Source: KIP-98.
"""

import msgspec

from records.control import UnknownRecord
from records.envelope import Envelope, Extra
from records.errors import CorruptLogError, RequestError
from records.kafka import codec
from records.kafka.varint import ZIGZAG, decode_zigzag
from records.registry import CONTROL_TYPES

# Attributes and timestamp delta before the offset delta; a null key after it.
_PLAIN_START = b"\0\0"
_NULL_KEY = ZIGZAG[-1]
_NO_HEADERS = ZIGZAG[0]


class RecordParts(msgspec.Struct, frozen=True, gc=False):
    """A record taken apart. `is_plain` when nothing but key and value is in it."""

    key: bytes | None
    value: bytes
    is_plain: bool


class _PlainPrefixes(dict[int, bytes]):
    """What stands between a plain data record's length and its value's, by offset delta."""

    def __missing__(self, offset_delta: int) -> bytes:
        prefix = _PLAIN_START + ZIGZAG[offset_delta] + _NULL_KEY
        self[offset_delta] = prefix
        return prefix


_PLAIN_PREFIXES = _PlainPrefixes()


class NotPlainError(Exception):
    """The record is damaged, or valid but not what our encoder writes."""


def plain_value(batch: bytes, start: int, offset_delta: int) -> tuple[bytes, int]:
    """Return the value of a data record in its plain form, and the position after the record.

    Raises:
        NotPlainError, IndexError: it is not that; `parse_record` says what it is.
    """
    p = start + 1
    length = batch[start]
    if length > 127:
        length += (batch[p] << 7) - 128
        if not 0 < batch[p] < 128:
            raise NotPlainError
        p += 1
    end = p + (length >> 1)
    prefix = _PLAIN_PREFIXES[offset_delta]
    if length & 1 or not batch.startswith(prefix, p):
        raise NotPlainError
    p += len(prefix) + 1
    size = batch[p - 1]
    if size > 127:
        size += (batch[p] << 7) - 128
        if not 0 < batch[p] < 128:
            raise NotPlainError
        p += 1
    value_end = p + (size >> 1)
    if size & 1 or not size or value_end + 1 != end or batch[value_end]:
        raise NotPlainError
    return batch[p:value_end], end


def parse_record(batch: bytes, start: int, offset_delta: int) -> tuple[RecordParts, int]:
    """Take any record apart; return it and the position after it.

    Raises:
        CorruptLogError: it is not one whole record with this offset delta; names the byte within
            the batch.
    """
    try:
        return _parse_record(batch, start, offset_delta)
    except IndexError:
        raise CorruptLogError(f"byte {len(batch)} of the batch: it ends inside a number") from None


def _parse_record(batch: bytes, start: int, offset_delta: int) -> tuple[RecordParts, int]:
    length, body_start = decode_zigzag(batch, start)
    end = body_start + length
    if length <= 0 or end > len(batch):
        raise _error(start, f"a record of {length} bytes, where {len(batch) - body_start} are left")
    attributes = batch[body_start]
    timestamp_delta, position = decode_zigzag(batch, body_start + 1)
    found_delta, position = decode_zigzag(batch, position)
    if found_delta != offset_delta:
        raise _error(position, f"offset delta {found_delta}, expected {offset_delta}")
    key, position = _sized(batch, position, end)
    value, position = _sized(batch, position, end)
    position, has_headers = _skip_headers(batch, position, end)
    if not value:
        raise _error(position, "a record without a value")
    if position != end:
        raise _error(position, f"the record says that it ends at byte {end}")
    is_plain = not (attributes or timestamp_delta or has_headers)
    if is_plain:
        is_plain = _join(key, value, offset_delta) == batch[start:end]
    return RecordParts(key, value, is_plain), end


def _sized(batch: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, start = decode_zigzag(batch, position)
    if size < 0:
        return None, start
    if start + size > end:
        raise _error(position, f"{size} bytes, where {end - start} are left")
    return batch[start : start + size], start + size


def _skip_headers(batch: bytes, position: int, end: int) -> tuple[int, bool]:
    count, position = decode_zigzag(batch, position)
    if not 0 <= count <= end - position:
        raise _error(position, f"{count} headers, where {end - position} bytes are left")
    for _ in range(count):
        _, position = _sized(batch, position, end)
        _, position = _sized(batch, position, end)
    return position, count > 0


def _error(position: int, what: str) -> CorruptLogError:
    return CorruptLogError(f"byte {position} of the batch: {what}")


def _join(key: bytes | None, value: bytes, offset_delta: int) -> bytes:
    """Write a record in its plain form."""
    keyed = _NULL_KEY if key is None else ZIGZAG[len(key)] + key
    body = _PLAIN_START + ZIGZAG[offset_delta] + keyed + ZIGZAG[len(value)] + value + _NO_HEADERS
    return ZIGZAG[len(body)] + body


def is_control(row: Envelope) -> bool:
    """Say whether a row's record belongs in a control batch."""
    payload = row.payload
    if type(payload) is UnknownRecord:
        return payload.control_key is not None
    return type(payload) in CONTROL_TYPES


def encode_record(row: Envelope, offset_delta: int) -> bytes:
    """Write one row of a batch, as it was read if it was read.

    Raises:
        RequestError: Kafka has no such record or version, or the record does not fit it.
    """
    extra = row.extra or _NO_EXTRA
    if extra.raw_record is not None:
        return extra.raw_record
    try:
        if is_control(row):
            key, value = codec.encode_control(row.payload, extra.unknown_tags)
            return _join(key, value, offset_delta)
        value = codec.encode_value(row.payload, row.record_version, extra.unknown_tags)
        return _join(None, value, offset_delta)
    except RequestError as error:
        raise RequestError(error.code, f"offset {row.offset}: {error}") from error


_NO_EXTRA = Extra()
