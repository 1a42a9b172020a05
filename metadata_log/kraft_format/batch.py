"""Kafka's record batch, version 2: a header of 61 bytes, then the records.

The CRC-32C covers everything from the attributes on. It does not cover base offset, length, leader
epoch and magic: readers compare these with the expected values.

Source: KIP-98 (the format), KIP-595 (its use in the metadata log).
"""

import struct

import google_crc32c
import msgspec

from metadata_log.limits import BATCH_SIZE_BYTES_MAX
from records.envelope import Envelope

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
"""Size of a batch header in bytes. The length field does not count the first 12 of these."""

LENGTH_END = 12
CRC_START = 21
MAGIC = 2

LENGTH_MIN = HEADER_SIZE - LENGTH_END
LENGTH_MAX = BATCH_SIZE_BYTES_MAX
"""Highest value of the length field: Kafka's writers stop at 8 MiB, header included."""

CONTROL = 0x20
"""The attribute of a batch that holds control records."""

_COMPRESSION_BITS = 0x07
_COMPRESSIONS = {0: None, 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_PLAIN_ATTRIBUTES = (0, CONTROL)

NO_PRODUCER = -1
"""Producer id, epoch and sequence of a batch that no client produced."""


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The fields of a batch header, in their order on disk."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Size of the whole batch in bytes, header included."""
        return LENGTH_END + self.length

    @property
    def end_offset(self) -> int:
        """Offset after the batch's last record."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def compression(self) -> str | None:
        """Name of the compression; None if the batch is not compressed."""
        codec = self.attributes & _COMPRESSION_BITS
        return _COMPRESSIONS.get(codec, f"unknown ({codec})")

    @property
    def is_plain(self) -> bool:
        """True if our encoder would write the same attributes, times and producer fields."""
        return (
            self.attributes in _PLAIN_ATTRIBUTES
            and self.max_timestamp == self.base_timestamp
            and self.producer_id == self.producer_epoch == self.base_sequence == NO_PRODUCER
        )


class KraftBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One batch as read.

    It starts at byte `position` of its file and is `size` bytes long, header included. `timestamp`
    is the append time, ms since 1970. `end_offset` is exclusive.
    """

    base_offset: int
    end_offset: int
    leader_epoch: int
    timestamp: int
    is_control: bool
    position: int
    size: int
    rows: tuple[Envelope, ...]


def parse_header(data: bytes, start: int = 0) -> BatchHeader:
    """Read the header at a position; `data` must hold 61 bytes from there."""
    return BatchHeader(*HEADER.unpack_from(data, start))


def crc_of(batch: bytes) -> int:
    """Compute the CRC-32C of a batch, for its header."""
    crc: int = google_crc32c.value(batch[CRC_START:])
    return crc


def problem_of(
    batch: bytes, header: BatchHeader, *, next_offset: int, leader_epoch: int
) -> str | None:
    """Return why a complete batch cannot be the next one of a log, as text; None if it can.

    Args:
        header: The header in `batch`.
        next_offset: Expected base offset.
        leader_epoch: Epoch of the batch before; -1 if there is none.
    """
    if header.magic != MAGIC:
        return f"the batch has magic {header.magic}, expected {MAGIC}"
    crc = crc_of(batch)
    if crc != header.crc:
        return f"the batch has CRC 0x{crc:08x}, its header says 0x{header.crc:08x}"
    if header.base_offset != next_offset:
        return f"found a batch of offset {header.base_offset}, expected {next_offset}"
    if header.leader_epoch < leader_epoch:
        return f"epoch {header.leader_epoch} follows epoch {leader_epoch}, and epochs only grow"
    if not 0 < header.record_count == header.last_offset_delta + 1:
        found = f"the batch counts {header.record_count} records"
        return f"{found}, its last offset delta is {header.last_offset_delta}"
    return None


class LogPosition(msgspec.Struct, frozen=True, gc=False):
    """Place of a batch that was read: its segment, its start byte there, and its header.

    When reading continues after the batch, the header shows whether the log is still the same
    there.
    """

    segment_base_offset: int
    byte: int
    header: bytes


class PlacedHeader(msgspec.Struct, frozen=True, gc=False):
    """The header of a batch, and the batch's place."""

    position: LogPosition
    header: BatchHeader
