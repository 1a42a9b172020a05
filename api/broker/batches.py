"""Record batches as clients send them; only the headers of batches are parsed.

Source: KIP-98 (the batch format), KIP-101 (the leader epoch in batches).
"""

import struct
from collections.abc import Iterator

import msgspec

from metadata_log.kraft_format.batch import (
    CRC_START,
    HEADER_SIZE,
    LENGTH_END,
    LENGTH_MIN,
    MAGIC,
    BatchHeader,
    crc_of,
    parse_header,
)
from records.errors import CorruptLogError, RequestError

LOG_APPEND_TIME = 0x08
"""Batch attribute: all records have the append time, which is the batch's greatest time."""

BATCH_SIZE_BYTES_MAX = 8 * 1024 * 1024
"""Size limit of one batch, also where `max.message.bytes` is above it."""

_BASE_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_TIME = struct.Struct(">q")
_MAX_TIMESTAMP_START = 35
_AFTER_BASE_OFFSET = 8
_AFTER_LEADER_EPOCH = LENGTH_END + _LEADER_EPOCH.size


class RawBatch(msgspec.Struct, frozen=True, gc=False):
    """A complete batch with a valid CRC, whose records stay encoded."""

    header: BatchHeader
    data: bytes

    @property
    def record_count(self) -> int:
        """Number of offsets that the batch takes; a valid batch has as many records."""
        return self.header.last_offset_delta + 1

    def stamped(self, base_offset: int, leader_epoch: int) -> "RawBatch":
        """Return the batch with this base offset and leader epoch; the CRC does not cover these."""
        data = b"".join(
            (
                _BASE_OFFSET.pack(base_offset),
                self.data[_AFTER_BASE_OFFSET:LENGTH_END],
                _LEADER_EPOCH.pack(leader_epoch),
                self.data[_AFTER_LEADER_EPOCH:],
            )
        )
        return RawBatch(parse_header(data), data)

    def of_append_time(self, timestamp: int) -> "RawBatch":
        """Return the batch with this append time (ms since 1970) for all of its records."""
        data = bytearray(self.data)
        _ATTRIBUTES.pack_into(data, CRC_START, self.header.attributes | LOG_APPEND_TIME)
        _TIME.pack_into(data, _MAX_TIMESTAMP_START, timestamp)
        _CRC.pack_into(data, CRC_START - _CRC.size, crc_of(bytes(data)))
        written = bytes(data)
        return RawBatch(parse_header(written), written)


def produced_batches(data: bytes) -> list[RawBatch]:
    """Check and return the batches of a client's Produce request.

    Raises:
        RequestError: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, UNSUPPORTED_FOR_MESSAGE_FORMAT or
            INVALID_RECORD.
    """
    try:
        batches = list(whole_batches(data))
    except CorruptLogError as error:
        raise RequestError("CORRUPT_MESSAGE", str(error)) from error
    if not batches:
        raise RequestError("INVALID_RECORD", "the request has no batch for the partition")
    for batch in batches:
        header = batch.header
        if header.is_control:
            raise RequestError("INVALID_RECORD", "clients may not write control records")
        if len(batch.data) > BATCH_SIZE_BYTES_MAX:
            raise RequestError(
                "MESSAGE_TOO_LARGE",
                f"the batch has {len(batch.data)} bytes; "
                f"at most {BATCH_SIZE_BYTES_MAX} are allowed",
            )
        if header.record_count != batch.record_count or header.record_count < 1:
            raise RequestError(
                "INVALID_RECORD",
                f"the batch has {header.record_count} records, but a last offset delta of "
                f"{header.last_offset_delta}",
            )
    return batches


def whole_batches(data: bytes) -> Iterator[RawBatch]:
    """Yield the consecutive batches of `data`.

    Raises:
        CorruptLogError: a batch is incomplete, not of format 2, or has a wrong CRC; the message
            gives the byte.
    """
    position = 0
    while position < len(data):
        header = _header(data, position)
        end = position + header.size
        if header.length < LENGTH_MIN or end > len(data):
            raise CorruptLogError(f"byte {position}: the batch of {header.size} bytes is cut short")
        batch = data[position:end]
        if crc_of(batch) != header.crc:
            raise CorruptLogError(
                f"byte {position}: the CRC is {crc_of(batch):#010x}, the header says "
                f"{header.crc:#010x}"
            )
        yield RawBatch(header, batch)
        position = end


def _header(data: bytes, position: int) -> BatchHeader:
    left = len(data) - position
    if left > LENGTH_END + _LEADER_EPOCH.size and data[_AFTER_LEADER_EPOCH + position] != MAGIC:
        magic = data[_AFTER_LEADER_EPOCH + position]
        raise CorruptLogError(
            f"byte {position}: batches of format {magic} are not supported, only 2"
        )
    if left < HEADER_SIZE:
        raise CorruptLogError(
            f"byte {position}: only {left} bytes are left, fewer than the {HEADER_SIZE} of a "
            "batch header"
        )
    return parse_header(data, position)


assert CRC_START == _AFTER_LEADER_EPOCH + 1 + 4, "what is stamped must lie before the CRC's bytes"
