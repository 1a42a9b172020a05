"""`commit.mark`: how far the log is committed.

Two slots, written in turn, so that a torn write of one leaves the other. The valid slot with the
higher sequence counts. A slot is 64 octets, big-endian; the slots stand 512 octets apart, so that
no disk sector holds both.
"""

import struct
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.fs import Fs, read_whole
from metadata_log.names import COMMIT_MARK
from records.errors import CorruptLogError

SLOT_SPACING = 512
MARK_SIZE = 2 * SLOT_SPACING
_MAGIC = b"MLCM"
_SLOT = struct.Struct(">4sQiqqqqIq")
_CRC = struct.Struct(">I")
SLOT_SIZE = _SLOT.size + _CRC.size
assert SLOT_SIZE == 64


class CommitMark(msgspec.Struct, frozen=True, kw_only=True):
    """One slot's content.

    `end_offset` is exclusive. The committed bytes end at `position` of the segment that starts at
    `segment_offset`, and `last_crc32c` is the CRC-32C of the stored block that ends there (0 when
    the log has none). Offsets below `confirmed_end` will never be replaced: in an own log all of
    them, in a mirror those that Kafka has proven to be committed. `max_timestamp` is the highest
    append time of any committed record (ms); 0 when it is not known: none yet, or an older mark.
    """

    sequence: int
    leader_epoch: int
    end_offset: int
    segment_offset: int
    position: int
    confirmed_end: int
    last_crc32c: int
    max_timestamp: int = 0

    def encode(self) -> bytes:
        """Return the slot's 64 octets."""
        body = _SLOT.pack(
            _MAGIC,
            self.sequence,
            self.leader_epoch,
            self.end_offset,
            self.segment_offset,
            self.position,
            self.confirmed_end,
            self.last_crc32c,
            self.max_timestamp,
        )
        return body + _CRC.pack(google_crc32c.value(body))

    @property
    def slot_position(self) -> int:
        """Where in the file this mark belongs."""
        return self.sequence % 2 * SLOT_SPACING


def decode_slot(data: bytes) -> CommitMark | None:
    """Read one slot; None when it is not whole."""
    if len(data) != SLOT_SIZE:
        return None
    body = data[: _SLOT.size]
    (crc,) = _CRC.unpack_from(data, _SLOT.size)
    if google_crc32c.value(body) != crc:
        return None
    magic, *fields = _SLOT.unpack(body)
    if magic != _MAGIC:
        return None
    return CommitMark(**dict(zip(CommitMark.__struct_fields__, fields, strict=True)))


def read_mark(fs: Fs, directory: Path) -> CommitMark:
    """Return the newest whole mark.

    Raises:
        CorruptLogError: the file is missing or neither slot is whole.
    """
    path = directory / COMMIT_MARK
    try:
        data = read_whole(fs, path)
    except FileNotFoundError:
        data = b""
    slots = [decode_slot(data[at : at + SLOT_SIZE]) for at in (0, SLOT_SPACING)]
    marks = [mark for mark in slots if mark is not None]
    if not marks:
        raise CorruptLogError(
            f"{path} byte 0: neither slot holds a whole commit mark, so it is not known which "
            "records were acknowledged; rebuild a copy with `metalog repair LOG COPY`"
        )
    return max(marks, key=lambda mark: mark.sequence)
