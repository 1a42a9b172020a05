"""Writes the index of the active segment."""

from collections.abc import Sequence
from pathlib import Path

from metadata_log.files.fs import Fs
from metadata_log.files.names import index_name
from metadata_log.format.derived_file import DerivedFile
from metadata_log.format.offset_index import IndexEntry
from metadata_log.limits import INDEX_INTERVAL_BYTES


class IndexWriter:
    """Appends entries to the index of the active segment, of committed blocks only."""

    def __init__(
        self, fs: Fs, directory: Path, base_offset: int, kept: Sequence[IndexEntry] = ()
    ) -> None:
        """Start the index of a segment.

        Args:
            kept: The first entries of the index. If a segment is continued, these are the entries
                of its committed blocks; otherwise there are none.
        """
        path = directory / index_name(base_offset)
        self._file = DerivedFile(fs, path, (entry.encode() for entry in kept))
        self._last_position = kept[-1].position if kept else None

    def maybe_add(self, offset: int, position: int, max_timestamp: int | None) -> None:
        """Queue an entry for a block if it is at least one interval after the last entry."""
        last = self._last_position
        if last is not None and position - last < INDEX_INTERVAL_BYTES:
            return
        self._last_position = position
        self._file.add(IndexEntry(offset, position, max_timestamp).encode())

    def commit(self) -> None:
        """Write the queued entries: their blocks are now committed."""
        self._file.commit()

    def forget(self) -> None:
        """Drop the entries queued by `maybe_add`: their blocks were rolled back."""
        if self._file.forget():
            self._last_position = None

    def close(self) -> None:
        """Close the index file."""
        self._file.close()
