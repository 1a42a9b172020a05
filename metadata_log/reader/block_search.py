"""Finds the block at which to start reading; uses the indexes of the segments."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from metadata_log.files.fs import ByteStore
from metadata_log.files.names import filter_name, segment_name
from metadata_log.format.block import SYNC_SIZE
from metadata_log.format.block_filter import BlockFilter, read_filter
from metadata_log.format.offset_index import IndexEntry, read_index
from metadata_log.format.segment_file import ScanStart, kept_segment


class BlockSearch:
    """Searches the committed segments of a log.

    In a result, position 0 means the first block of its segment.
    """

    def __init__(
        self, fs: ByteStore, directory: Path, segments: Sequence[int], names: Iterable[str]
    ) -> None:
        """Prepare to search the given segments.

        Args:
            segments: Base offsets of the segments, ascending.
            names: The names of the files in the directory.
        """
        self._names = frozenset(names)
        self._fs = fs
        self._directory = directory
        self._segments = segments
        self._last_filter: tuple[int, BlockFilter] | None = None

    def segment_of(self, offset: int) -> int:
        """Return the base offset of the segment that contains an offset.

        For an offset past the end, this is the last segment.
        """
        return max(base for base in self._segments if base <= offset)

    def filter_of(self, base: int) -> BlockFilter | None:
        """Return the filter of a segment; None if it had none when the log was opened.

        The one asked for last is kept, as it was: short searches often follow each other in one
        segment, and an entry counts only for bytes that have its CRC.
        """
        if filter_name(base) not in self._names:
            return None
        last = self._last_filter
        if last is None or last[0] != base:
            last = self._last_filter = base, read_filter(self._fs, self._directory, base)
        return last[1]

    def at_offset(self, offset: int) -> IndexEntry:
        """Return the last indexed block at or before an offset."""
        base = self.segment_of(offset)
        return self._fitting(read_index(self._fs, self._directory, base).at_offset(offset), base)

    def at_time(self, timestamp: int) -> IndexEntry:
        """Return an indexed block before which all records have a time of at most `timestamp`.

        Times are in ms since 1970.
        """
        segment = self._segments[0]
        for base in self._segments:
            with kept_segment(self._fs, self._path(base)) as opened:
                latest = opened.header.max_timestamp
            if latest is not None and latest > timestamp:
                break
            segment = base
        index = read_index(self._fs, self._directory, segment)
        return self._fitting(index.at_time(timestamp), segment)

    def _fitting(self, entry: IndexEntry | None, base: int) -> IndexEntry:
        """Return an index entry if it matches the segment, else the segment's start.

        An index is not part of the log: a wrong one, copied from elsewhere, may cost time but must
        not change the result.
        """
        start = IndexEntry(base, 0, None)
        if entry is None or entry.offset < base:
            return start
        with kept_segment(self._fs, self._path(base)) as segment:
            file = segment.file
            scan = segment.scan(file.size(), ScanStart(entry.position))
            # A block begins right after a sync marker; one byte off can parse as another block.
            before = file.pread(SYNC_SIZE, max(entry.position - SYNC_SIZE, 0))
            fits = before == segment.header.sync_marker and scan.peek_offset() == entry.offset
            return entry if fits else start

    def _path(self, base: int) -> Path:
        return self._directory / segment_name(base)
