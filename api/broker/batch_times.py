"""The times of a batch's records, for lookups and checks, and which of them have keys.

Source: KIP-32 (times), KIP-98 (the batch format).
"""

from collections.abc import Iterator

import msgspec

from api.broker.batches import LOG_APPEND_TIME
from api.broker.compression import decompressed
from metadata_log.kraft_format.batch import HEADER_SIZE, parse_header
from records.errors import CorruptLogError
from records.varint import decode_long

RECORDS_SIZE_BYTES_MAX = 32 * 1024 * 1024
"""Limit for one batch's records after decompression; a lookup expands one batch at a time."""


class RecordTime(msgspec.Struct, frozen=True, gc=False):
    """One record: its offset within the batch, and its time (ms since 1970)."""

    offset_delta: int
    timestamp: int


class BatchRecord(msgspec.Struct, frozen=True, gc=False):
    """One record as its producer wrote it: its time (ms since 1970), and if it has a key."""

    timestamp: int
    has_key: bool


def first_at(batch: bytes, timestamp: int, *, first_delta: int = 0) -> RecordTime | None:
    """Return the first record whose time is at or after `timestamp`; None if there is none.

    Args:
        first_delta: Offset delta of the batch's first record that has not been deleted.

    Raises:
        CorruptLogError: the records cannot be read, or are too large to decompress.
    """
    for found in record_times(batch):
        if found.offset_delta >= first_delta and found.timestamp >= timestamp:
            return found
    return None


def greatest(batch: bytes, *, first_delta: int = 0) -> RecordTime:
    """Return the record with the greatest time; of several such records, the first.

    Args:
        first_delta: Offset delta of the batch's first record that has not been deleted.

    Raises:
        CorruptLogError: the records cannot be read, or are too large to decompress.
    """
    kept = (found for found in record_times(batch) if found.offset_delta >= first_delta)
    return max(kept, key=lambda found: found.timestamp)


def record_times(batch: bytes) -> Iterator[RecordTime]:
    """Yield the offset and time of each record of a complete batch.

    Raises:
        CorruptLogError: the records cannot be read, or are too large to decompress.
    """
    header = parse_header(batch)
    if header.attributes & LOG_APPEND_TIME:
        for offset_delta in range(header.record_count):
            yield RecordTime(offset_delta, header.max_timestamp)
        return
    for offset_delta, record in enumerate(batch_records(batch)):
        yield RecordTime(offset_delta, record.timestamp)


def batch_records(batch: bytes) -> Iterator[BatchRecord]:
    """Yield the records of a complete batch, with the times that the producer gave them.

    Raises:
        CorruptLogError: the records cannot be read, or are too large to decompress.
    """
    header = parse_header(batch)
    records = decompressed(batch[HEADER_SIZE:], header.compression, RECORDS_SIZE_BYTES_MAX)
    position = 0
    try:
        for offset_delta in range(header.record_count):
            length, start = decode_long(records, position)
            timestamp_delta, after = decode_long(records, start + 1)  # behind the attributes
            found_delta, after = decode_long(records, after)
            key_size, after = decode_long(records, after)
            timestamp = header.base_timestamp + timestamp_delta
            position = start + length
            if not after <= position <= len(records):
                raise CorruptLogError(f"the record at byte {start} has the wrong length {length}")
            # When a client writes a batch, only its header is checked.
            if found_delta != offset_delta or not -(1 << 63) <= timestamp < 1 << 63:
                raise CorruptLogError(
                    f"record {offset_delta} has the wrong offset delta {found_delta}, or the time "
                    f"{timestamp} is out of range"
                )
            yield BatchRecord(timestamp, key_size >= 0)
    except IndexError:
        raise CorruptLogError(f"the records end inside the record at byte {position}") from None
