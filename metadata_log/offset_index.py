"""A sparse index of one segment: which block holds an offset, and where a point in time lies.

It only saves reading. An entry that is damaged, or that no longer fits the segment, is passed over;
a missing file costs a read of the segment from its start.
"""

import bisect
import struct
from collections.abc import Sequence
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.fs import Fs, read_whole
from metadata_log.limits import INDEX_INTERVAL_BYTES
from metadata_log.names import index_name

_ENTRY = struct.Struct(">qqq")
_CRC = struct.Struct(">I")
ENTRY_SIZE = _ENTRY.size + _CRC.size
_NO_TIMESTAMP = -(1 << 63)


class IndexEntry(msgspec.Struct, frozen=True, gc=False):
    """The block that begins at `position` starts with `offset`.

    `max_timestamp` is the highest append time of any record of the log before it, None for none.
    It never falls from entry to entry, even where times go backwards.
    """

    offset: int
    position: int
    max_timestamp: int | None


class OffsetIndex:
    """The entries of one segment, ascending."""

    def __init__(self, entries: Sequence[IndexEntry]) -> None:
        self._entries = entries
        self._offsets = [entry.offset for entry in entries]
        self._times = [
            _NO_TIMESTAMP if entry.max_timestamp is None else entry.max_timestamp
            for entry in entries
        ]

    def at_offset(self, offset: int) -> IndexEntry | None:
        """Return the last entry at or below an offset."""
        found = bisect.bisect_right(self._offsets, offset)
        return self._entries[found - 1] if found else None

    def at_time(self, timestamp: int) -> IndexEntry | None:
        """Return the last entry before which no record is later than a time."""
        found = bisect.bisect_right(self._times, timestamp)
        return self._entries[found - 1] if found else None


class IndexBuilder:
    """Collects the entries of the segment that is being written."""

    def __init__(self) -> None:
        self._last_position: int | None = None
        self._encoded: list[bytes] = []

    def maybe_add(self, offset: int, position: int, max_timestamp: int | None) -> None:
        """Add an entry for a block, when the last one is far enough behind."""
        last = self._last_position
        if last is not None and position - last < INDEX_INTERVAL_BYTES:
            return
        self._last_position = position
        entry = _ENTRY.pack(
            offset, position, _NO_TIMESTAMP if max_timestamp is None else max_timestamp
        )
        self._encoded.append(entry + _CRC.pack(google_crc32c.value(entry)))

    def encode(self) -> bytes:
        """Return the entries as they are stored."""
        return b"".join(self._encoded)

    def write(self, fs: Fs, directory: Path, base_offset: int) -> None:
        """Write the index of a segment, in place of an older one. Not synced: it can be rebuilt."""
        if not self._encoded:
            return
        path = directory / index_name(base_offset)
        part = path.with_suffix(".index.part")
        for leftover in {part.name} & set(fs.list(directory)):
            fs.unlink(directory / leftover)
        file = fs.open(part, create=True)
        try:
            file.pwrite(self.encode(), 0)
        finally:
            file.close()
        fs.rename(part, path)


def read_index(fs: Fs, directory: Path, base_offset: int) -> OffsetIndex:
    """Read a segment's index; it is empty when there is none."""
    try:
        data = read_whole(fs, directory / index_name(base_offset))
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
