"""One record inside a batch: lengths, key and headers around the record's value.

Source: KIP-98.
"""

import msgspec

from records.envelope import Envelope, Extra
from records.errors import CorruptLogError, RequestError
from records.kafka import codec
from records.registry import is_control
from records.varint import LONGS, decode_long

# Before the offset delta: attributes and timestamp delta. After it: a null key.
_PLAIN_START = b"\0\0"
_NULL_KEY = LONGS[-1]
_NO_HEADERS = LONGS[0]


class RecordParts(msgspec.Struct, frozen=True, gc=False):
    """A parsed record. `is_plain` is True if it has only a key and a value."""

    key: bytes | None
    value: bytes
    is_plain: bool


class _PlainPrefixes(dict[int, bytes]):
    """Table of the bytes before the value's length in plain data records, by offset delta.

    The bytes start after the record's own length: attributes, time delta, offset delta, null key.
    """

    def __missing__(self, offset_delta: int) -> bytes:
        prefix = _PLAIN_START + LONGS[offset_delta] + _NULL_KEY
        self[offset_delta] = prefix
        return prefix


_PLAIN_PREFIXES = _PlainPrefixes()


class NotPlainError(Exception):
    """Raised for a record that is damaged, or valid but not in the form our encoder writes."""


def plain_value(batch: bytes, start: int, offset_delta: int) -> tuple[bytes, int]:
    """Return the value of a data record in plain form, and the position after the record.

    Raises:
        NotPlainError, IndexError: the record is not in plain form; use `parse_record` instead.
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
    """Parse any record; return it and the position after it.

    Raises:
        CorruptLogError: the bytes are not a complete record with this offset delta; names the byte
            within the batch.
    """
    try:
        length, body_start = decode_long(batch, start)
    except IndexError:
        raise _error(start, "the batch ends where a record must begin") from None
    end = body_start + length
    if length <= 0 or end > len(batch):
        left = len(batch) - body_start
        raise _error(start, f"a record's length is {length} bytes, but {left} bytes are left")
    try:
        parts = _parse_body(batch[body_start:end], offset_delta)
    except IndexError:
        raise _error(start, "the record ends inside a number") from None
    except CorruptLogError as error:
        raise _error(start, str(error)) from error
    if parts.is_plain and _join(parts.key, parts.value, offset_delta) != batch[start:end]:
        parts = RecordParts(parts.key, parts.value, is_plain=False)
    return parts, end


def _parse_body(body: bytes, expected_delta: int) -> RecordParts:
    attributes = body[0]
    timestamp_delta, position = decode_long(body, 1)
    offset_delta, position = decode_long(body, position)
    if offset_delta != expected_delta:
        raise CorruptLogError(f"a record has offset delta {offset_delta}, not {expected_delta}")
    key, position = _sized(body, position)
    value, position = _sized(body, position)
    header_count, position = decode_long(body, position)
    if not 0 <= header_count <= len(body) - position:
        left = len(body) - position
        raise CorruptLogError(
            f"a record has {header_count} headers, but only {left} bytes are left for them"
        )
    for _ in range(header_count):
        _, position = _sized(body, position)
        _, position = _sized(body, position)
    if position != len(body):
        left = len(body) - position
        raise CorruptLogError(f"a record has {left} bytes after its last header")
    if not value:
        raise CorruptLogError("a record has no value")
    return RecordParts(key, value, not (attributes or timestamp_delta or header_count))


def _sized(body: bytes, position: int) -> tuple[bytes | None, int]:
    size, start = decode_long(body, position)
    if size < 0:
        return None, start
    end = start + size
    if end > len(body):
        raise CorruptLogError(
            f"a key, value or header has {size} bytes, but only {len(body) - start} bytes of the "
            "record are left"
        )
    return body[start:end], end


def _error(position: int, what: str) -> CorruptLogError:
    return CorruptLogError(f"byte {position} of the batch: {what}")


def _join(key: bytes | None, value: bytes, offset_delta: int) -> bytes:
    """Encode a record in the plain form."""
    keyed = _NULL_KEY if key is None else LONGS[len(key)] + key
    body = _PLAIN_START + LONGS[offset_delta] + keyed + LONGS[len(value)] + value + _NO_HEADERS
    return LONGS[len(body)] + body


def encode_record(row: Envelope, offset_delta: int) -> bytes:
    """Encode one row of a batch; a row that was decoded gives its original bytes.

    Raises:
        RequestError: Kafka has no such record or version, or the record does not fit the version.
    """
    extra = row.extra or _NO_EXTRA
    if extra.raw_record is not None:
        return extra.raw_record
    try:
        if is_control(row.payload):
            key, value = codec.encode_control(row.payload, extra.unknown_tags)
            return _join(key, value, offset_delta)
        value = codec.encode_value(row.payload, row.record_version, extra.unknown_tags)
        return _join(None, value, offset_delta)
    except RequestError as error:
        raise RequestError(error.code, f"offset {row.offset}: {error}") from error


_NO_EXTRA = Extra()
