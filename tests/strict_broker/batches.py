"""Record batches as a broker checks them: whole, undamaged, of records that it can read."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import google_crc32c

from tests.stand_in_quorum.wire import MalformedError, Reader
from tests.strict_broker.traps import BrokenError, Trap

_HEADER = struct.Struct(">qiibIhiqqqhii")
_CONTROL = 0x20
_CRC_AT, _COVERED_FROM = 17, 21


@dataclass(frozen=True)
class Batch:
    """A batch of the log, as it came."""

    base_offset: int
    end_offset: int
    epoch: int
    is_control: bool
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Record:
    """A record: of metadata with `key` None, or of control with its type as the key."""

    offset: int
    key: int | None
    value: bytes = field(repr=False)


class DamagedError(Exception):
    """A batch has not the CRC that its header says: a broker logs it and asks again."""


def split(data: bytes) -> Iterator[Batch]:
    """Yield the whole batches; one that is cut at the end is left out.

    Raises:
        DamagedError: A CRC differs.
        BrokenError: BAD_RECORD, a header that no metadata log has.
    """
    position = 0
    while position + _HEADER.size <= len(data):
        base, length, epoch, magic, crc, attributes, delta, _, _, *rest = _HEADER.unpack_from(
            data, position
        )
        end = position + 12 + length
        if magic != 2 or length < _HEADER.size - 12:
            raise BrokenError(Trap.BAD_RECORD, f"a batch at {base} of magic {magic}")
        if end > len(data):
            return
        batch = data[position:end]
        if google_crc32c.value(batch[_COVERED_FROM:]) != crc:
            raise DamagedError(f"the batch at {base}")
        if rest != [-1, -1, -1, delta + 1] or attributes & ~_CONTROL:
            raise BrokenError(Trap.BAD_RECORD, f"the batch at {base}: {attributes}, {rest}")
        yield Batch(base, base + delta + 1, epoch, bool(attributes & _CONTROL), batch)
        position = end


def records(batch: Batch) -> Iterator[Record]:
    """Yield the records of a batch.

    Raises:
        BrokenError: BAD_RECORD.
    """
    reader = Reader(batch.data[_HEADER.size :], is_flexible=True)
    try:
        for index in range(batch.end_offset - batch.base_offset):
            yield _record(reader, batch, index)
        reader.end()
    except MalformedError as bad:
        raise BrokenError(Trap.BAD_RECORD, f"the batch at {batch.base_offset}: {bad}") from None


def _record(reader: Reader, batch: Batch, index: int) -> Record:
    body = Reader(reader.take(_zigzag(reader)), is_flexible=True)
    attributes, time_delta, delta = body.int8(), _zigzag(body), _zigzag(body)
    key = _nullable(body)
    value = _nullable(body)
    headers = _zigzag(body)
    body.end()
    if (attributes, time_delta, delta, headers) != (0, 0, index, 0) or not value:
        raise MalformedError(f"record {index}: {attributes}, {time_delta}, {delta}, {headers}")
    offset = batch.base_offset + index
    if not batch.is_control:
        if key is not None:
            raise MalformedError(f"record {index} of metadata has a key")
        return Record(offset, None, value)
    if key is None or len(key) < 4:
        raise MalformedError(f"control record {index} has the key {key!r}")
    return Record(offset, struct.unpack_from(">h", key, 2)[0], value)


def _zigzag(reader: Reader) -> int:
    """Read a number of a record, of up to 64 bits."""
    value = 0
    for shift in range(0, 70, 7):
        byte = reader.take(1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise MalformedError("a varint of more than 10 bytes")


def _nullable(reader: Reader) -> bytes | None:
    size = _zigzag(reader)
    return None if size < 0 else reader.take(size)
