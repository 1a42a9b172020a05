"""A file derived from a segment, written along with it: entries that readers can do without.

The file is not synced. If it cannot be written, no more entries are written.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from metadata_log.files.fs import File, Fs

_LOG = logging.getLogger(__name__)


class DerivedFile:
    """Appends encoded entries; the file is created anew when the first one is written."""

    def __init__(self, fs: Fs, path: Path, kept: Iterable[bytes], *, start: bytes = b"") -> None:
        """Start the file.

        Args:
            kept: The first entries: those of the committed blocks of a segment that is continued.
            start: What the file begins with, before its entries.
        """
        self._fs = fs
        self._path = path
        self._first = b"".join(kept)
        self._start = start
        self._waiting: list[bytes] = []
        self._file: File | None = None
        self._size = 0
        self._given_up = False

    def add(self, entry: bytes) -> None:
        """Queue an entry."""
        self._waiting.append(entry)

    def commit(self) -> None:
        """Write the queued entries: their blocks are now committed."""
        data = b"".join(self._waiting)
        if self._file is None:
            data = self._first + data
        if not data or self._given_up:
            return
        self._waiting.clear()
        try:
            if self._file is None:
                self._file = self._create()
                data = self._start + data
            self._file.pwrite(data, self._size)
            self._size += len(data)
        except OSError as error:
            _LOG.warning(
                "%s cannot be continued (%s); reading and searching will be slower",
                self._path,
                error,
            )
            self._given_up = True

    def forget(self) -> bool:
        """Drop the queued entries: their blocks were rolled back; return whether there were any."""
        had_any = bool(self._waiting)
        self._waiting.clear()
        return had_any

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _create(self) -> File:
        # Left by an empty segment of the same name, or by an earlier attempt.
        if self._fs.exists(self._path):
            self._fs.unlink(self._path)
        return self._fs.open(self._path, create=True)
