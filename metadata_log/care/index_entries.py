"""The index of a segment, made anew while its blocks are read."""

from metadata_log.limits import INDEX_INTERVAL_BYTES
from metadata_log.offset_index import IndexEntry


class IndexEntries:
    """Collects an entry for the first block, and then for one in each interval."""

    def __init__(self) -> None:
        self._entries: list[IndexEntry] = []

    def maybe_add(self, offset: int, position: int, max_timestamp: int | None) -> None:
        """Add an entry for a block, when the last one is far enough behind."""
        if not self._entries or position - self._entries[-1].position >= INDEX_INTERVAL_BYTES:
            self._entries.append(IndexEntry(offset, position, max_timestamp))

    def encode(self) -> bytes:
        """Return the entries as they are stored."""
        return b"".join(entry.encode() for entry in self._entries)
