"""Reads from a failing disk: unreadable bytes read as zeros and are listed.

Every block and header has a checksum, so the inspection or repair that reads the zeros reports them
as damage, and continues after them.
"""

import errno
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore, ReadableFile

SECTOR_SIZE = 4096
# Bad sector, file system checksum, file system structure; the last exists on Linux only.
_UNREADABLE = frozenset({errno.EIO, errno.EBADMSG, getattr(errno, "EUCLEAN", errno.EIO)})


class Unreadable(msgspec.Struct, frozen=True):
    """Bytes of a file that the disk cannot read; `end_byte` is exclusive."""

    file: str
    byte: int
    end_byte: int
    why: str


class FailingDisk:
    """A file system that returns zeros for bytes that the disk cannot read.

    Attributes:
        unreadable: Byte ranges that could not be read, ordered by file and position.
    """

    def __init__(self, fs: ByteStore) -> None:
        self._fs = fs
        self._sectors: dict[tuple[str, int], Unreadable] = {}

    @property
    def unreadable(self) -> list[Unreadable]:
        """Byte ranges that could not be read, ordered by file and position; adjacent ranges are
        merged.
        """
        found: list[Unreadable] = []
        for _, sector in sorted(self._sectors.items()):
            last = found[-1] if found else None
            if last and (last.file, last.end_byte, last.why) == (
                sector.file,
                sector.byte,
                sector.why,
            ):
                found[-1] = msgspec.structs.replace(last, end_byte=sector.end_byte)
            else:
                found.append(sector)
        return found

    def note(self, path: Path, byte: int, end_byte: int, error: OSError) -> None:
        """Record an unreadable sector.

        Raises:
            OSError: `error` itself, if it does not come from the disk.
        """
        if error.errno not in _UNREADABLE:
            raise error
        why = str(error.strerror)
        self._sectors[path.name, byte] = Unreadable(path.name, byte, end_byte, why)

    def open(self, path: Path) -> ReadableFile:
        return _FailingFile(self._fs.open(path), path, self)

    def list(self, directory: Path) -> list[str]:
        return self._fs.list(directory)

    def exists(self, path: Path) -> bool:
        return self._fs.exists(path)


class _FailingFile:
    def __init__(self, file: ReadableFile, path: Path, disk: FailingDisk) -> None:
        self._file = file
        self._path = path
        self._disk = disk

    def pread(self, size: int, position: int) -> bytes:
        try:
            return self._file.pread(size, position)
        except OSError:
            # One bad sector fails the whole read: find it.
            first = position - position % SECTOR_SIZE
            end = min(position + size, self._file.size())
            sectors = b"".join(self._sector(at) for at in range(first, end, SECTOR_SIZE))
            return sectors[position - first : end - first]

    def _sector(self, start: int) -> bytes:
        end = min(start + SECTOR_SIZE, self._file.size())
        try:
            return self._file.pread(end - start, start)
        except OSError as error:
            self._disk.note(self._path, start, end, error)
            return bytes(end - start)

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()
