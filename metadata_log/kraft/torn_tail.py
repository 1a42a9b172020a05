"""Distinguishes an incomplete last batch, which was being written, from a damaged one.

The CRC does not cover the length. A flipped bit in the length can make a complete batch, and
everything after it, look as if the batch ran past the end of the file. So a batch counts as
incomplete only if all of this is true:

1. The bytes of its base offset, length, epoch and magic, as far as they exist, have the values that
must come next.
2. Its records, parsed without the length, do not end inside the file with the right CRC. If they
do, the batch is complete and its length is wrong.
3. No complete batch starts anywhere after it: files are only appended to.

Any other damage in an incomplete batch cannot be distinguished from bytes that were never written;
none of the batch is read.
"""

from metadata_log.kraft_format.batch import (
    HEADER_SIZE,
    LENGTH_END,
    LENGTH_MAX,
    LENGTH_MIN,
    MAGIC,
    BatchHeader,
    crc_of,
    parse_header,
)
from records.errors import CorruptLogError
from records.varint import decode_long

_MAGIC_AT = 16


def damage_in_tail(tail: bytes, next_offset: int, leader_epoch: int) -> str | None:
    """Return evidence of damage in the bytes at the end of a file, as text; None if there is none.

    Args:
        tail: From the start of the incomplete batch to the end of the file.
        next_offset: Expected base offset of that batch.
        leader_epoch: Epoch of the batch before; -1 if there is none.
    """
    return (
        _wrong_start(tail, next_offset, leader_epoch)
        or _wrong_length(tail)
        or _hidden_batch(tail, next_offset, leader_epoch)
    )


def _wrong_start(tail: bytes, next_offset: int, leader_epoch: int) -> str | None:
    base_offset = next_offset.to_bytes(8, "big")
    if not base_offset.startswith(tail[:8]):
        return f"an incomplete batch starts with {tail[:8].hex()}, expected offset {next_offset}"
    if len(tail) >= LENGTH_END:
        length = int.from_bytes(tail[8:LENGTH_END], "big", signed=True)
        if not LENGTH_MIN <= length <= LENGTH_MAX:
            return f"the batch's length says {length}, expected {LENGTH_MIN} to {LENGTH_MAX}"
    if len(tail) >= _MAGIC_AT:
        epoch = int.from_bytes(tail[LENGTH_END:_MAGIC_AT], "big", signed=True)
        if epoch < leader_epoch:
            return f"an incomplete batch of epoch {epoch} follows epoch {leader_epoch}"
    if len(tail) > _MAGIC_AT and tail[_MAGIC_AT] != MAGIC:
        return f"an incomplete batch has magic {tail[_MAGIC_AT]}, expected {MAGIC}"
    return None


def _wrong_length(tail: bytes) -> str | None:
    size = _size_by_records(tail)
    if size is None:
        return None
    said = parse_header(tail).length
    return (
        f"the batch's length says {said}, but its {size} bytes are whole and their CRC is right: "
        f"the length must be {size - LENGTH_END}"
    )


def _size_by_records(tail: bytes) -> int | None:
    """Return the size of a batch, found by parsing its records; None if the records are damaged."""
    if len(tail) < HEADER_SIZE:
        return None
    header = parse_header(tail)
    position = HEADER_SIZE
    try:
        for _ in range(header.record_count):
            length, position = decode_long(tail, position)
            if length <= 0 or position + length > len(tail):
                return None
            position += length
    except (IndexError, CorruptLogError):
        return None
    return position if header.crc == crc_of(tail[:position]) else None


def _hidden_batch(tail: bytes, next_offset: int, leader_epoch: int) -> str | None:
    start = whole_batch_behind(tail, next_offset, leader_epoch)
    if start is None:
        return None
    offset = parse_header(tail, start).base_offset
    return (
        f"an incomplete batch, and {start} bytes after its start a complete one of offset {offset}"
    )


def whole_batch_behind(tail: bytes, next_offset: int, leader_epoch: int) -> int | None:
    """Return the start of the first complete batch after an unreadable batch; None if there is
    none.
    """
    magic_at = tail.find(MAGIC, _MAGIC_AT + 1)
    while magic_at >= 0:
        start = magic_at - _MAGIC_AT
        if len(tail) - start < HEADER_SIZE:
            return None
        header = parse_header(tail, start)
        # Cheap checks first: the magic's value is common inside records.
        is_later = header.base_offset > next_offset and header.leader_epoch >= leader_epoch
        if is_later and is_whole_batch(tail, start, header):
            return start
        magic_at = tail.find(MAGIC, magic_at + 1)
    return None


def is_whole_batch(tail: bytes, start: int, header: BatchHeader) -> bool:
    """True if the batch with this header ends inside `tail` and its CRC is right."""
    fits = header.length >= LENGTH_MIN and start + header.size <= len(tail)
    return fits and header.crc == crc_of(tail[start : start + header.size])
