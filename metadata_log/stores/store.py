"""Stores for copies of a log: a directory, or a prefix in a bucket.

Both have the same few operations. A file appears atomically and synced. A store can be read as a
log directory.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from metadata_log.files.fs import ByteStore, File, Fs, Lock, OsFs, create_synced
from metadata_log.files.lock import lock_directory
from metadata_log.stores.checked_read import CheckedRead, Progress, file_size, no_progress
from records.errors import CorruptLogError, RequestError


class Store(Protocol):
    """A place for copies of a log.

    `fs` and `directory` give read access to its files, also while they are written.
    """

    @property
    def fs(self) -> ByteStore: ...

    @property
    def directory(self) -> Path: ...

    def pinned(self) -> ByteStore:
        """Return a read-only view of the store's files.

        While a file of the view is open, its content stays the same, or reading raises an error.

        Raises:
            UnavailableError: the store cannot be reached.
        """
        ...

    def prepare(self) -> Lock | None:
        """Create the place if needed, and lock it if the kind of store can be locked.

        Raises:
            UnavailableError: another process writes there.
        """
        ...

    def names(self) -> list[str]:
        """Return the names of the files there; an empty list if the place does not exist."""
        ...

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write and sync a file atomically; replaces an existing one."""
        ...

    def delete(self, name: str) -> None:
        """Remove an existing file."""
        ...


class DirectoryStore:
    """A store that is a directory of a file system."""

    def __init__(self, fs: Fs, directory: Path) -> None:
        self.fs = fs
        self.directory = directory

    def pinned(self) -> ByteStore:
        # A file that is open stays what it was when another is renamed into its place.
        return self.fs

    def prepare(self) -> Lock | None:
        with contextlib.suppress(FileExistsError):
            self.fs.make_directory(self.directory)
        self.fs.sync_directory(self.directory.parent)
        return lock_directory(self.fs, self.directory)

    def names(self) -> list[str]:
        try:
            return self.fs.list(self.directory)
        except FileNotFoundError:
            return []
        except NotADirectoryError as error:
            raise RequestError(
                "INVALID_REQUEST", f"{self.directory} is a file; name a directory"
            ) from error

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        part = self.directory / f"{name}.part"

        def write(file: File) -> None:
            position = 0
            for chunk in chunks:
                file.pwrite(chunk, position)
                position += len(chunk)

        create_synced(self.fs, part, write).close()
        self.fs.rename(part, self.directory / name)
        self.fs.sync_directory(self.directory)

    def delete(self, name: str) -> None:
        self.fs.unlink(self.directory / name)
        self.fs.sync_directory(self.directory)


def put_checked(
    store: Store, name: str, fs: ByteStore, path: Path, size: int, progress: Progress = no_progress
) -> int:
    """Copy the first `size` bytes of a file, read the copy back, and return its CRC-32C.

    Raises:
        CorruptLogError: the bytes read back differ from the bytes written.
    """
    source = CheckedRead(fs, path, size, progress)
    store.put(name, source)
    copy = store.directory / name
    found_size = file_size(store.fs, copy)
    found = CheckedRead(store.fs, copy, min(size, found_size)).checksum()
    if (found_size, found) != (size, source.crc32c):
        raise CorruptLogError(
            f"{copy} byte 0: read back {found_size} bytes with CRC 0x{found:08x}, sent {size} "
            f"with 0x{source.crc32c:08x}; check the disk or store, and run again"
        )
    return found


def open_store(place: Path | str, fs: Fs | None = None) -> Store:
    """Return the store for a path or `s3://bucket/prefix`.

    Raises:
        RequestError: the URL is not supported, or the optional dependency `archive` is not
            installed.
    """
    if isinstance(place, Path):
        return DirectoryStore(fs or OsFs(), place.absolute())
    if not place:
        # An unset shell variable gives an empty path; it must not mean the working directory.
        message = "the path is empty; write . for the working directory"
        raise RequestError("INVALID_REQUEST", message)
    if "://" not in place:
        return DirectoryStore(fs or OsFs(), Path(place).absolute())
    from metadata_log.stores.object_store import ObjectStore

    return ObjectStore.of_url(place)
