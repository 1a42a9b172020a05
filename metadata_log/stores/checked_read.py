"""Copying of bytes between files, with a checksum of the bytes read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import google_crc32c

from metadata_log.files.fs import ByteStore
from metadata_log.format.segment_scan import corrupt

CHUNK_SIZE_BYTES = 1024 * 1024

Progress = Callable[[int], None]
"""Called with the number of bytes done since the last call."""


def no_progress(size: int) -> None:
    """Progress callback that does nothing."""


class CheckedRead:
    """Reads the first `size` bytes of a file in chunks; `crc32c` is set after the last chunk."""

    def __init__(
        self, fs: ByteStore, path: Path, size: int, progress: Progress = no_progress
    ) -> None:
        self._fs = fs
        self._path = path
        self._size = size
        self._progress = progress
        self.crc32c = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield the file's bytes in chunks.

        Raises:
            CorruptLogError: the file is shorter than `size`.
        """
        self.crc32c = 0
        file = self._fs.open(self._path)
        try:
            position = 0
            while position < self._size:
                chunk = file.pread(min(CHUNK_SIZE_BYTES, self._size - position), position)
                if not chunk:
                    raise corrupt(
                        self._path, position, f"the file ends here, expected {self._size} bytes"
                    )
                self.crc32c = google_crc32c.extend(self.crc32c, chunk)
                position += len(chunk)
                self._progress(len(chunk))
                yield chunk
        finally:
            file.close()

    def checksum(self) -> int:
        """Read all `size` bytes and return their CRC-32C."""
        for _ in self:
            pass
        return self.crc32c


def file_size(fs: ByteStore, path: Path) -> int:
    """Return a file's length in bytes."""
    file = fs.open(path)
    try:
        return file.size()
    finally:
        file.close()
