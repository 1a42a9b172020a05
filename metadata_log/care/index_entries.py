"""Building or checking the index of a segment while its blocks are read."""

from pathlib import Path

from metadata_log.files.fs import ByteStore
from metadata_log.files.names import index_name
from metadata_log.format.block import ReadBlock
from metadata_log.format.offset_index import ENTRY_SIZE, IndexEntry, OffsetIndex, read_index
from metadata_log.limits import INDEX_INTERVAL_BYTES
from metadata_log.stores.checked_read import file_size

_OFFSET_MAX = (1 << 63) - 1


class IndexEntries:
    """Collects index entries: one for the first block, then one per interval."""

    def __init__(self) -> None:
        self._entries: list[IndexEntry] = []

    def maybe_add(self, offset: int, position: int, max_timestamp: int | None) -> None:
        """Add an entry for a block if it is at least one interval after the last entry."""
        if not self._entries or position - self._entries[-1].position >= INDEX_INTERVAL_BYTES:
            self._entries.append(IndexEntry(offset, position, max_timestamp))

    def encode(self) -> bytes:
        """Return the entries in the encoding of the index file."""
        return b"".join(entry.encode() for entry in self._entries)


class IndexCheck:
    """Compares the entries of an index with the blocks as they are read."""

    def __init__(self, fs: ByteStore, directory: Path, base: int) -> None:
        path = directory / index_name(base)
        # Take the size first: the index of the last segment may grow meanwhile.
        self._count = file_size(fs, path) // ENTRY_SIZE if fs.exists(path) else 0
        self._index: OffsetIndex = read_index(fs, directory, base)
        self._seen = 0
        self._wrong: str | None = None

    def see(self, block: ReadBlock, highest: int | None) -> None:
        """Compare a block that was just read with its entry in the index, if there is one.

        Args:
            highest: The highest append time before the block, ms since 1970; None if there is none.
        """
        entry = self._index.at_offset(block.base_offset)
        if entry is None or entry.offset != block.base_offset or self._wrong:
            return
        if (entry.position, entry.max_timestamp) != (block.position, highest):
            self._wrong = (
                f"says that offset {entry.offset} is at byte {entry.position} after time "
                f"{entry.max_timestamp}; it is at byte {block.position} after {highest}"
            )
            return
        self._seen += 1

    def problem(self, grows_from: int | None) -> tuple[int, str] | None:
        """Return the byte and a description of the first wrong entry; None if all are right.

        Args:
            grows_from: Entries from this offset on may point to blocks that were not read, because
                a live writer may have added them meanwhile. None if every entry must point to a
                block that was read.
        """
        byte = self._seen * ENTRY_SIZE
        if self._wrong is not None:
            return byte, self._wrong
        last = self._index.at_offset(_OFFSET_MAX)
        is_ahead = grows_from is not None and last is not None and last.offset >= grows_from
        if self._seen < self._count and not is_ahead:
            return byte, "this entry is damaged, or points to no block"
        return None
