"""The files derived from a segment, its index and its filter, written along with the segment.

Only committed blocks get an entry, so no entry points past a cut. The files are not synced.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from metadata_log.files.fs import Fs
from metadata_log.files.names import derived_names
from metadata_log.format.block_filter import read_filter
from metadata_log.format.filter_writer import FilterWriter
from metadata_log.format.index_writer import IndexWriter
from metadata_log.format.offset_index import read_index
from metadata_log.format.tail import Tail
from records.base import Record


class SegmentIndexes:
    """Writes the index and the filter of the active segment."""

    def __init__(self, index: IndexWriter, block_filter: FilterWriter) -> None:
        self._index = index
        self._filter = block_filter

    @classmethod
    def of_new(cls, fs: Fs, directory: Path, base_offset: int) -> Self:
        """Start the files of a new segment."""
        return cls(
            IndexWriter(fs, directory, base_offset), FilterWriter(fs, directory, base_offset)
        )

    @classmethod
    def of_continued(cls, fs: Fs, directory: Path, base_offset: int, position: int) -> Self:
        """Continue the files of a segment that is continued at byte `position`."""
        index = read_index(fs, directory, base_offset).below(position)
        runs = read_filter(fs, directory, base_offset).below(position)
        return cls(
            IndexWriter(fs, directory, base_offset, index),
            FilterWriter(fs, directory, base_offset, runs),
        )

    def add(self, records: Sequence[Record], stored: bytes, before: Tail, after: Tail) -> None:
        """Add a block; the log's tail was `before` it and is `after` it."""
        self._index.maybe_add(before.end_offset, before.position, before.max_timestamp)
        self._filter.add(records, stored, before, after)

    def commit(self) -> None:
        """Write the entries that are complete: all added blocks are now committed."""
        self._index.commit()
        self._filter.commit()

    def forget(self) -> None:
        """Drop the entries that are not written: some of their blocks were rolled back."""
        self._index.forget()
        self._filter.forget()

    def close(self) -> None:
        """Close the files."""
        self._index.close()
        self._filter.close()


def shorten_indexes(fs: Fs, directory: Path, base_offset: int, position: int) -> None:
    """Remove the entries of the blocks at or after byte `position` of a segment."""
    indexes = SegmentIndexes.of_continued(fs, directory, base_offset, position)
    remove_indexes(fs, directory, base_offset)
    indexes.commit()
    indexes.close()


def remove_indexes(fs: Fs, directory: Path, base_offset: int) -> None:
    """Remove the files of a segment, as far as they exist."""
    for name in derived_names(base_offset):
        if fs.exists(directory / name):
            fs.unlink(directory / name)
