"""A sparse index of one segment: finds the block of an offset or of a time.

It only makes reading faster. A damaged entry, or one that no longer matches the segment, is
ignored; without an index file the segment is read from its start.
"""

import bisect
import struct
from collections.abc import Sequence
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.files.fs import ByteStore, read_start
from metadata_log.files.names import index_name

_ENTRY = struct.Struct(">qqq")
_CRC = struct.Struct(">I")
ENTRY_SIZE = _ENTRY.size + _CRC.size
_NO_TIMESTAMP = -(1 << 63)
# Enough entries for a segment of about 150 GB; anything after them is found by reading.
_READ_BYTES_MAX = 64 * 1024 * 1024


class IndexEntry(msgspec.Struct, frozen=True, gc=False):
    """The first offset and the byte position of a block.

    `max_timestamp` is the highest append time of any record of the log before the block, None if
    there is no record. It never decreases from entry to entry, even where times go backwards.
    """

    offset: int
    position: int
    max_timestamp: int | None

    def encode(self) -> bytes:
        """Return the entry in the encoding of the index file."""
        latest = _NO_TIMESTAMP if self.max_timestamp is None else self.max_timestamp
        body = _ENTRY.pack(self.offset, self.position, latest)
        return body + _CRC.pack(google_crc32c.value(body))


class OffsetIndex:
    """The index entries of one segment, ascending."""

    def __init__(self, entries: Sequence[IndexEntry]) -> None:
        self._entries = entries
        self._offsets = [entry.offset for entry in entries]
        self._times = [
            _NO_TIMESTAMP if entry.max_timestamp is None else entry.max_timestamp
            for entry in entries
        ]

    def below(self, position: int) -> Sequence[IndexEntry]:
        """Return the entries of the blocks that begin before byte `position` of the segment."""
        return [entry for entry in self._entries if entry.position < position]

    def at_offset(self, offset: int) -> IndexEntry | None:
        """Return the last entry at or below an offset."""
        found = bisect.bisect_right(self._offsets, offset)
        return self._entries[found - 1] if found else None

    def at_time(self, timestamp: int) -> IndexEntry | None:
        """Return the last entry whose `max_timestamp` is None or at most `timestamp`, if any."""
        found = bisect.bisect_right(self._times, timestamp)
        return self._entries[found - 1] if found else None


def read_index(fs: ByteStore, directory: Path, base_offset: int) -> OffsetIndex:
    """Read a segment's index; empty if there is none."""
    try:
        data = read_start(fs, directory / index_name(base_offset), _READ_BYTES_MAX)
    except FileNotFoundError:
        data = b""
    return OffsetIndex(_entries(data))


def _entries(data: bytes) -> list[IndexEntry]:
    entries: list[IndexEntry] = []
    for at in range(0, len(data) - ENTRY_SIZE + 1, ENTRY_SIZE):
        body = data[at : at + _ENTRY.size]
        offset, position, max_timestamp = _ENTRY.unpack(body)
        (crc,) = _CRC.unpack_from(data, at + _ENTRY.size)
        if google_crc32c.value(body) != crc:
            break
        timestamp = None if max_timestamp == _NO_TIMESTAMP else max_timestamp
        entries.append(IndexEntry(offset, position, timestamp))
    return entries
