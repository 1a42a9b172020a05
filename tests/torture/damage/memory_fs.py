"""A log directory in memory, so that a case of damage needs no disk.

It keeps every write: the simulated disk, not this one, tests what a crash may lose.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from metadata_log.files.fs import File, Lock

DIRECTORY = Path("/log")


class _Content:
    """The bytes of a file, independent of its name; open files share it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def pread(self, size: int, position: int) -> bytes:
        return self.data[position : position + size]

    def pwrite(self, data: bytes, position: int) -> None:
        before = self.data[:position].ljust(position, b"\0")
        self.data = b"".join((before, data, self.data[position + len(data) :]))

    def truncate(self, size: int) -> None:
        self.data = self.data[:size].ljust(size, b"\0")

    def sync(self) -> None: ...

    def size(self) -> int:
        return len(self.data)

    def close(self) -> None: ...


class _MemoryLock:
    def release(self) -> None: ...


class MemoryFs:
    """The files of one directory, by name; starts with the given files, which it does not
    change.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = {name: _Content(data) for name, data in files.items()}

    def content(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        return self._files[name].data if name in self._files else None

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        name = path.name
        if create:
            if name in self._files:
                raise FileExistsError(path)
            self._files[name] = _Content(b"")
        elif name not in self._files:
            raise FileNotFoundError(path)
        return self._files[name]

    def list(self, directory: Path) -> list[str]:
        return sorted(self._files)

    def exists(self, path: Path) -> bool:
        return path == DIRECTORY or path.name in self._files

    def make_directory(self, path: Path) -> None:
        raise FileExistsError(path)

    def rename(self, source: Path, target: Path) -> None:
        self._files[target.name] = self._files.pop(source.name)

    def unlink(self, path: Path) -> None:
        del self._files[path.name]

    def sync_directory(self, path: Path) -> None: ...

    def lock(self, path: Path, owner: str) -> Lock:
        self._files[path.name] = _Content(owner.encode())
        return _MemoryLock()


async def at_once(work: Callable[[], None]) -> None:
    """Run work that would wait for the disk; this one never waits."""
    work()
