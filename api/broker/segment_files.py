"""The segment files of a replica: write, read, truncate and sync at given positions.

An object must be used by only one thread at a time.
"""

import errno
import os
import re
from contextlib import AbstractContextManager
from pathlib import Path

from api.broker.open_files import OpenFiles

_SUFFIX = ".log"
_NAME = re.compile(rf"[0-9]{{20}}{re.escape(_SUFFIX)}")


def segment_bases(folder: Path) -> list[int]:
    """Return the base offsets of the segments in a folder, in ascending order."""
    return sorted(int(path.stem) for path in folder.iterdir() if _NAME.fullmatch(path.name))


class SegmentFiles:
    """The segments of one folder, each identified by its base offset.

    Attributes:
        folder: The folder of the segments; it may be renamed while files are open.
        bases: Base offsets of the segments.
    """

    def __init__(self, folder: Path, files: OpenFiles) -> None:
        self.folder = folder
        self._files = files
        self.bases: list[int] = []
        self._unsynced: set[int] = set()

    def write(self, base: int, position: int, content: bytes) -> None:
        """Write bytes at a position of a segment; create the segment if it does not exist.

        Raises:
            OSError: the disk failed; any part of the bytes may have been written.
        """
        if base not in self.bases:
            self.bases.append(base)
        self._unsynced.add(base)
        with self._file(base, create=True) as descriptor:
            _write_all(descriptor, content, position)

    def read(self, base: int, position: int, size: int) -> bytes:
        """Return `size` bytes at a position of a segment.

        Raises:
            OSError: the disk failed, or the file is too short.
        """
        with self._file(base) as descriptor:
            content = os.pread(descriptor, size, position)
        if len(content) < size:
            raise OSError(errno.EIO, f"{self.path(base)} is truncated")
        return content

    def cut(self, base: int, position: int) -> None:
        """Remove all segments after segment `base`, then truncate that segment at a position.

        Raises:
            OSError: the disk failed.
        """
        for later in sorted((b for b in self.bases if b > base), reverse=True):
            self._remove(later)
        if base in self.bases:
            with self._file(base) as descriptor:
                os.ftruncate(descriptor, position)

    def remove_before(self, base: int) -> None:
        """Remove the segments before `base`, starting with the lowest.

        Raises:
            OSError: the disk failed.
        """
        for earlier in sorted(b for b in self.bases if b < base):
            self._remove(earlier)

    def _remove(self, base: int) -> None:
        self._files.forget((self, base))
        self.path(base).unlink(missing_ok=True)
        self.bases.remove(base)
        self._unsynced.discard(base)

    def close(self) -> None:
        """Sync all unsynced segments and close the files.

        Raises:
            OSError: the disk failed; the files are closed nevertheless.
        """
        try:
            for base in sorted(self._unsynced):
                with self._file(base) as descriptor:
                    os.fsync(descriptor)
            self._unsynced.clear()
        finally:
            for base in self.bases:
                self._files.forget((self, base))

    def path(self, base: int) -> Path:
        """Return the path of a segment's file."""
        return self.folder / f"{base:020}{_SUFFIX}"

    def _file(self, base: int, *, create: bool = False) -> AbstractContextManager[int]:
        return self._files.use((self, base), self.path(base), create=create)


def _write_all(descriptor: int, content: bytes, position: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(descriptor, view, position)
        view, position = view[written:], position + written
