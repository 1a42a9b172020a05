"""The file operations the log uses, as a protocol, so that a simulated disk can replace the OS.

Paths are absolute. Nothing is buffered here: when `pwrite` returns, the operating system has the
bytes; after the next `sync` they are on stable storage. Errors of the operating system that are no
damage become UnavailableError, which can be retried.
"""

import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import takewhile
from pathlib import Path, PosixPath
from typing import Concatenate, ParamSpec, Protocol, Self, TypeVar

from records.errors import CorruptLogError, UnavailableError

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700

_COPY_SIZE = 1024 * 1024
_LOCK_TRIES = 4
_LOCK_RETRY_S = 0.002
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class ReadableFile(Protocol):
    """An open file, read by byte position."""

    def pread(self, size: int, position: int) -> bytes:
        """Return up to `size` bytes; fewer only at the end of the file."""
        ...

    def size(self) -> int:
        """Return the file's length in bytes."""
        ...

    def close(self) -> None: ...


class File(ReadableFile, Protocol):
    """An open file, read and written by byte position."""

    def pwrite(self, data: bytes, position: int) -> None:
        """Write all of `data`; after an OSError, any part of `data` may have been written."""
        ...

    def truncate(self, size: int) -> None:
        """Cut or extend the file to `size` bytes."""
        ...

    def sync(self) -> None:
        """Fsync the file: everything written is on stable storage afterwards."""
        ...


class Lock(Protocol):
    """An exclusive lock on a file, held until released or until the process ends."""

    def release(self) -> None: ...


class ByteStore(Protocol):
    """Storage from which the files of a log are read: a file system, or a prefix of an object
    store.
    """

    def open(self, path: Path) -> ReadableFile:
        """Open a file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def list(self, directory: Path) -> list[str]:
        """Return the names in a directory, sorted."""
        ...

    def exists(self, path: Path) -> bool: ...


class UrlPath(PosixPath):
    """The path of a file in an object store; its text form is the URL.

    `UrlPath("/s3:/bucket/prefix")` is `s3://bucket/prefix`.
    """

    def __str__(self) -> str:
        return super().__str__().removeprefix("/").replace(":/", "://", 1)

    def absolute(self) -> Self:
        return self


class Fs(ByteStore, Protocol):
    """A file system."""

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        """Open an existing file, or with `create` a new one; `create` fails if the file exists."""
        ...

    def make_directory(self, path: Path) -> None:
        """Create a directory and its missing parents durably."""

    def rename(self, source: Path, target: Path) -> None: ...

    def unlink(self, path: Path) -> None: ...

    def sync_directory(self, path: Path) -> None:
        """Fsync a directory, so that created, renamed and removed entries are durable."""
        ...

    def lock(self, path: Path, owner: str) -> Lock:
        """Lock a file, creating it if needed, and write `owner` into it.

        Raises:
            BlockingIOError: the file is locked already; the message is the text that the holder
                wrote.
        """
        ...


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _naming(
    method: "Callable[Concatenate[OsFile, _P], _T]",
) -> "Callable[Concatenate[OsFile, _P], _T]":
    """Decorate a method so that its OSErrors contain the file's name."""

    @wraps(method)
    def named(file: "OsFile", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(file, *args, **kwargs)
        except OSError as error:
            error.filename = str(file.path)
            raise

    return named


class OsFile:
    """A file of the operating system's file system."""

    def __init__(self, path: Path, flags: int) -> None:
        self.path = path
        # Opening a FIFO would else wait for its other end; O_NONBLOCK changes nothing for a file.
        self._descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE)
        mode = os.fstat(self._descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(self._descriptor)
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            raise CorruptLogError(
                f"{path} byte 0: not a file, but a FIFO or a device; restore the file from a backup"
            )

    @_naming
    def pread(self, size: int, position: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            part = os.pread(self._descriptor, size, position)
            if not part:
                break
            parts.append(part)
            size -= len(part)
            position += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @_naming
    def pwrite(self, data: bytes, position: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, position)
            view = view[written:]
            position += written

    @_naming
    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    @_naming
    def sync(self) -> None:
        _sync(self._descriptor)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        # The descriptor number is reused soon: a late call must fail, not reach another file.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class OsLock:
    """A `flock` lock. A POSIX record lock (`lockf`) is not safe enough.

    A process that opens the file twice would get a record lock both times, and closing either of
    the two would release the lock. The file is never removed: otherwise two writers could each lock
    a different file.
    """

    def __init__(self, path: Path, owner: str) -> None:
        # Only writers lock.
        from metadata_log.files.network_file_systems import refuse_network_file_system

        refuse_network_file_system(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            self._take(owner)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, owner: str) -> None:
        for tries_left in reversed(range(_LOCK_TRIES)):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if not tries_left:
                    holder = os.pread(self._descriptor, 256, 0).decode("utf-8", "replace").strip()
                    raise BlockingIOError(holder) from error
            # `writer_process` (lock.py) holds the lock for an instant, to see if there is a writer.
            time.sleep(_LOCK_RETRY_S)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, owner.encode(), 0)

    def release(self) -> None:
        try:
            os.ftruncate(self._descriptor, 0)
        finally:
            os.close(self._descriptor)


class OsFs:
    """The operating system's file system. A path may also be a string."""

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        flags = os.O_RDWR if write or create else os.O_RDONLY
        if create:
            flags |= os.O_CREAT | os.O_EXCL
        return OsFile(Path(path), flags)

    def list(self, directory: Path) -> list[str]:
        return sorted(os.listdir(directory))

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def make_directory(self, path: Path) -> None:
        missing = takewhile(lambda parent: not parent.exists(), Path(path).absolute().parents)
        for parent in reversed(list(missing)):
            with suppress(FileExistsError):
                os.mkdir(parent, DIRECTORY_MODE)
            self.sync_directory(parent.parent)
        os.mkdir(path, DIRECTORY_MODE)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def sync_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path, owner: str) -> Lock:
        return OsLock(Path(path), owner)


if sys.platform == "darwin":  # pragma: no cover

    def _sync(descriptor: int) -> None:
        # On macOS fsync leaves data in the drive's cache; this flushes the drive as well.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
else:

    def _sync(descriptor: int) -> None:
        # Also flushes the length; without it the bytes could not be read back.
        os.fdatasync(descriptor)


def read_start(fs: ByteStore, path: Path, size_bytes_max: int) -> bytes:
    """Return a small file's content, or the first `size_bytes_max` bytes of a larger one."""
    file = fs.open(path)
    try:
        return file.pread(min(file.size(), size_bytes_max), 0)
    finally:
        file.close()


def copy_start(source: ReadableFile, target: File, size_bytes: int) -> None:
    """Copy the first `size_bytes` of a file."""
    for position in range(0, size_bytes, _COPY_SIZE):
        target.pwrite(source.pread(min(_COPY_SIZE, size_bytes - position), position), position)


def create_synced(fs: Fs, path: Path, write: Callable[[File], None]) -> File:
    """Create a file with the content that `write` writes, and fsync it, but not its directory.

    On failure no file is left.
    """
    if fs.exists(path):
        fs.unlink(path)
    file = fs.open(path, create=True)
    try:
        write(file)
        file.sync()
    except BaseException:
        file.close()
        with suppress(OSError):
            fs.unlink(path)
        raise
    return file


def write_whole(fs: Fs, path: Path, data: bytes) -> None:
    """Atomically write a file: write, fsync, rename. Replaces an existing file."""
    part = path.with_name(f"{path.name}.part")
    create_synced(fs, part, lambda file: file.pwrite(data, 0)).close()
    fs.rename(part, path)
    fs.sync_directory(path.parent)


@contextmanager
def full_as_unavailable(directory: Path) -> Iterator[None]:
    """Convert the error for a full disk, an exceeded quota or a file size limit into
    UnavailableError.

    Raises:
        UnavailableError: the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise UnavailableError(
            f"{directory}: no room on the disk ({error.strerror}); nothing was written, "
            "and the log goes on when there is room again"
        ) from error


@contextmanager
def missing_as_unavailable(directory: Path) -> Iterator[None]:
    """Convert a FileNotFoundError for a file of an existing log into UnavailableError.

    Raises:
        UnavailableError: a file was removed.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UnavailableError(
            f"{error.filename or directory} vanished: the log's start moved up, or the log was "
            "removed; try again"
        ) from error


def moved_up(path: Path) -> UnavailableError:
    """Return the error for a segment that `retain` removed while the log was read."""
    return UnavailableError(
        f"{path} vanished while it was being read: the log's start moved up; try again"
    )
