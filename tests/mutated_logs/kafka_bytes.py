"""Splits and joins Kafka's record batches, independently of the importer."""

import struct
from dataclasses import dataclass, field, replace
from typing import Any

import google_crc32c

_HEADER_SIZE, _CRC_START = 61, 21


@dataclass(frozen=True)
class Record:
    """A record: the bytes of its value, and its form decoded by another program.

    Attributes:
        decoded: The whole row of the oracle: `type`, `version`, `data`.
        not_understood: True if it is of an unknown type or version, or has an unknown tag.
        has_effect: False if it does not change the image.
    """

    value: bytes
    decoded: dict[str, Any]
    not_understood: bool = False
    has_effect: bool = True

    @property
    def type(self) -> str:
        return str(self.decoded["type"])

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = self.decoded["data"]
        return found


@dataclass
class Batch:
    """A batch; `raw` has its bytes if they must stay unchanged, as for all control batches."""

    header: bytes
    raw: bytes | None
    records: list[Record] = field(default_factory=list)
    shift: int = 0  # added to the base offset that follows from the batch before

    @property
    def count(self) -> int:
        return len(self.records)

    def copy(self) -> "Batch":
        return replace(self, records=list(self.records))


def taken_apart(content: bytes, oracle: list[dict[str, Any]]) -> list[Batch]:
    """Return the batches of a segment, with the rows that another program decoded."""
    batches, at, rows = [], 0, iter(oracle)
    while at < len(content):
        size = 12 + int.from_bytes(content[at + 8 : at + 12], "big")
        raw = content[at : at + size]
        if len(raw) < size:
            break  # the node was writing it
        (attributes,) = struct.unpack_from(">h", raw, 21)
        is_control = bool(attributes & 0x20)
        batch = Batch(raw[:_HEADER_SIZE], raw if is_control else None)
        position = _HEADER_SIZE
        for _ in range(int.from_bytes(raw[57:61], "big")):
            value, position = _value(raw, position)
            batch.records.append(Record(value, next(rows)))
        batches.append(batch)
        at += size
    return batches


def put_together(batches: list[Batch]) -> bytes:
    """Return the bytes of a segment with consecutive batches, except for their shifts."""
    content, offset = [], 0
    for batch in batches:
        base = offset + batch.shift
        content.append(_encoded(batch, base))
        offset = base + batch.count
    return b"".join(content)


def _encoded(batch: Batch, base: int) -> bytes:
    if batch.raw is not None:  # the base offset is not under the CRC
        return base.to_bytes(8, "big") + batch.raw[8:]
    records = b"".join(_record(r.value, delta) for delta, r in enumerate(batch.records))
    header = bytearray(batch.header)
    header[0:8] = base.to_bytes(8, "big")
    header[8:12] = (_HEADER_SIZE - 12 + len(records)).to_bytes(4, "big")
    header[23:27] = (batch.count - 1).to_bytes(4, "big")
    header[57:61] = batch.count.to_bytes(4, "big")
    whole = bytes(header) + records
    crc: int = google_crc32c.value(whole[_CRC_START:])
    return whole[:17] + crc.to_bytes(4, "big") + whole[_CRC_START:]


def _record(value: bytes, offset_delta: int) -> bytes:
    body = b"\0\0" + _varint(offset_delta) + _varint(-1) + _varint(len(value)) + value + _varint(0)
    return _varint(len(body)) + body


def _value(raw: bytes, position: int) -> tuple[bytes, int]:
    length, position = _read_varint(raw, position)
    end = position + length
    position += 1  # attributes
    for _ in range(2):  # deltas of time and offset
        _, position = _read_varint(raw, position)
    key_size, position = _read_varint(raw, position)
    position += max(key_size, 0)
    size, position = _read_varint(raw, position)
    return raw[position : position + size], end


def _read_varint(raw: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = raw[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position


def _varint(number: int) -> bytes:
    left, found = (number << 1) ^ (number >> 31), bytearray()
    left &= 0xFFFFFFFF
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*found, left))
