"""A file system that stops working at its n-th call, as if the process were killed there.

A sync counts as a call but does not sync: a killed process loses nothing that it wrote.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from metadata_log.files.fs import File, Fs, Lock, OsFs

_T = TypeVar("_T")


class Calls:
    """Counts calls; the call number `fail_at` (from 0) and all later ones fail."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.fail_at = fail_at
        self.made = 0

    def call(self, action: Callable[[], _T]) -> _T:
        """Run the action, unless calls fail by now."""
        number = self.made
        self.made += 1
        if self.fail_at is not None and number >= self.fail_at:
            raise OSError(errno.EIO, f"call {number} was told to fail")
        return action()


class FailingFs:
    """The operating system's files, until the call at which everything fails."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.calls = Calls(fail_at)
        self._fs: Fs = OsFs()

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        file = self.calls.call(lambda: self._fs.open(path, write=write, create=create))
        return FailingFile(self.calls, file)

    def list(self, directory: Path) -> list[str]:
        return self.calls.call(lambda: self._fs.list(directory))

    def exists(self, path: Path) -> bool:
        return self.calls.call(lambda: self._fs.exists(path))

    def make_directory(self, path: Path) -> None:
        self.calls.call(lambda: self._fs.make_directory(path))

    def rename(self, source: Path, target: Path) -> None:
        self.calls.call(lambda: self._fs.rename(source, target))

    def unlink(self, path: Path) -> None:
        self.calls.call(lambda: self._fs.unlink(path))

    def sync_directory(self, path: Path) -> None:
        self.calls.call(lambda: None)

    def lock(self, path: Path, owner: str) -> Lock:
        return self.calls.call(lambda: self._fs.lock(path, owner))


class FailingFile:
    """A file of `FailingFs`; the write that fails has written half of its bytes."""

    def __init__(self, calls: Calls, file: File) -> None:
        self._calls = calls
        self._file = file

    def pread(self, size: int, position: int) -> bytes:
        return self._calls.call(lambda: self._file.pread(size, position))

    def pwrite(self, data: bytes, position: int) -> None:
        try:
            self._calls.call(lambda: self._file.pwrite(data, position))
        except OSError:
            self._file.pwrite(data[: len(data) // 2], position)
            raise

    def truncate(self, size: int) -> None:
        self._calls.call(lambda: self._file.truncate(size))

    def sync(self) -> None:
        self._calls.call(lambda: None)

    def size(self) -> int:
        return self._calls.call(self._file.size)

    def close(self) -> None:
        self._file.close()
