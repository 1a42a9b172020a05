"""A file system in memory that loses unsynced data at a power loss, and can be made to fail."""

import errno
from collections.abc import Callable, Mapping
from pathlib import Path

from metadata_log.files.fs import File, Lock
from tests.simulated_disk.faults import READS, Call, Fault, Faults, failure
from tests.simulated_disk.inode import Inode, Kept
from tests.simulated_disk.names import NameChange, Names

ROOT = "/disk"
"""The directory that is always there."""

DiskState = dict[str, bytes | None]
"""What is on a disk at rest: the content of each path, None for a directory."""


def state_key(state: DiskState) -> int:
    """Return a hash of a state; different states have different hashes, barring collisions."""
    return hash(tuple(sorted(state.items())))


class PowerLoss(BaseException):
    """The system has lost its power: no code runs after this, so none may catch it."""


class SimulatedDisk:
    """A disk and the system's page cache; implements `Fs`.

    Attributes:
        trace: All calls so far, if they are recorded.
        boundary: Called before each call that changes the disk.
        boundary_count: Number of those calls.
        capacity: Number of bytes that fit; None for no limit.
        is_gone: True after a power loss: every further call raises PowerLoss.
    """

    def __init__(self, state: DiskState | None = None) -> None:
        self.names = Names(
            {
                path: Inode(is_directory=True) if content is None else Inode(content)
                for path, content in (state or {ROOT: None}).items()
            }
        )
        self.faults = Faults()
        self.capacity: int | None = None
        self.boundary: Callable[[], None] | None = None
        self.boundary_count = 0
        self.trace: list[Call] | None = None
        self.is_gone = False
        self._serial = 0
        self._locks: dict[str, SimulatedLock] = {}

    # What the log sees of it.

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        name = str(path)
        self.call("create" if create else "open", name)
        inode = self.names.current.get(name)
        if create:
            if inode is not None:
                raise failure(errno.EEXIST, name)
            self._check_room(name)
            inode = Inode()
            self._change_name(name, added=name, inode=inode)
        elif inode is None:
            raise failure(errno.ENOENT, name)
        return SimulatedFile(self, name, inode, writable=write or create)

    def list(self, directory: Path) -> list[str]:
        prefix = f"{directory}/"
        self.call("list", prefix)
        if str(directory) not in self.names.current:
            raise failure(errno.ENOENT, str(directory))
        start = len(prefix)
        inside = [name[start:] for name in self.names.current if name.startswith(prefix)]
        return sorted([name for name in inside if "/" not in name])

    def exists(self, path: Path) -> bool:
        self.call("exists", str(path))
        return str(path) in self.names.current

    def make_directory(self, path: Path) -> None:
        self.call("make_directory", str(path))
        if str(path) in self.names.current:
            raise failure(errno.EEXIST, str(path))
        self._check_room(str(path))
        self._change_name(str(path), added=str(path), inode=Inode(is_directory=True))

    def rename(self, source: Path, target: Path) -> None:
        self.call("rename", str(source))
        inode = self.names.current.get(str(source))
        if inode is None:
            raise failure(errno.ENOENT, str(source))
        self._change_name(str(target), removed=str(source), added=str(target), inode=inode)

    def unlink(self, path: Path) -> None:
        self.call("unlink", str(path))
        if str(path) not in self.names.current:
            raise failure(errno.ENOENT, str(path))
        self._change_name(str(path), removed=str(path))

    def sync_directory(self, path: Path) -> None:
        self.call("sync_directory", str(path))
        self.names.sync(str(path))

    def lock(self, path: Path, owner: str) -> Lock:
        name = str(path)
        self.call("lock", name)
        holder = self._locks.get(name)
        if holder is not None:
            raise BlockingIOError(holder.owner)
        if name not in self.names.current:
            self._change_name(name, added=name, inode=Inode())
        # What is written into the file is for people, and worth nothing after a crash.
        lock = self._locks[name] = SimulatedLock(self, name, owner)
        return lock

    # What happens to it.

    @property
    def is_locked(self) -> bool:
        """True if any process holds a lock."""
        return bool(self._locks)

    def break_locks(self) -> None:
        """Release every lock, like a network file system that lost its client; the holders
        continue.
        """
        self._locks.clear()

    def free(self, lock: "SimulatedLock") -> None:
        """Release a lock, unless another holder has it by now."""
        if self._locks.get(lock.path) is lock:
            del self._locks[lock.path]

    def visible(self) -> DiskState:
        """Return what the system shows, which is what a crash of the process alone leaves."""
        return {
            path: None if inode.is_directory else inode.content
            for path, inode in self.names.current.items()
        }

    def after_power_loss(self, kept: Mapping[int, Kept]) -> DiskState:
        """Return the content of the disk if these of the uncertain changes reached it."""
        names = self.names.after_power_loss(kept)
        return {
            path: None if inode.is_directory else inode.after_power_loss(kept)
            for path, inode in names.items()
            if path == ROOT or path.rpartition("/")[0] in names
        }

    # For the files.

    def next_serial(self) -> int:
        """Return the serial number of the next change."""
        self._serial += 1
        return self._serial

    def call(self, operation: str, path: str, position: int = 0, size: int = 0) -> None:
        """Count a call, and fail if a fault is set for it.

        Raises:
            OSError: a fault hits this call.
            PowerLoss: the power is lost.
        """
        fault = self._begin(operation, path, position, size)
        if fault is not None:
            raise failure(fault.error, path)

    def begin_write(self, path: str, inode: Inode, position: int, size: int) -> tuple[int, int]:
        """Count a write; return how many bytes of it succeed, and the errno if not all do."""
        fault = self._begin("pwrite", path, position, size)
        if fault is not None:
            return min(fault.written, size), fault.error
        if self.capacity is None:
            return size, 0
        room = self.capacity - self._used() + inode.size - position
        if room >= size:
            return size, 0
        self.faults.happened += 1
        return max(room, 0), errno.ENOSPC

    def _begin(self, operation: str, path: str, position: int, size: int) -> Fault | None:
        if self.is_gone:
            raise PowerLoss
        if operation not in READS:
            if self.boundary is not None:
                self.boundary()
            self.boundary_count += 1
        if self.trace is not None:
            self.trace.append(Call(operation, path, position, size))
        return self.faults.next(operation, path)

    def _check_room(self, path: str) -> None:
        if self.capacity is not None and self._used() >= self.capacity:
            self.faults.happened += 1
            raise failure(errno.ENOSPC, path)

    def _used(self) -> int:
        return sum(inode.size for inode in self.names.current.values())

    def _change_name(
        self,
        path: str,
        *,
        removed: str | None = None,
        added: str | None = None,
        inode: Inode | None = None,
    ) -> None:
        directory = path.rpartition("/")[0]
        self.names.change(NameChange(self.next_serial(), directory, removed, added, inode))


class SimulatedFile:
    """An open file of a simulated disk."""

    def __init__(self, disk: SimulatedDisk, path: str, inode: Inode, *, writable: bool) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode
        self._writable = writable

    def pread(self, size: int, position: int) -> bytes:
        self._disk.call("pread", self._path, position, size)
        return self._inode.read(size, position)

    def pwrite(self, data: bytes, position: int) -> None:
        assert self._writable, self._path
        size, error = self._disk.begin_write(self._path, self._inode, position, len(data))
        if size:
            self._inode.write(bytes(data[:size]), position, self._disk.next_serial())
        if error:
            raise failure(error, self._path)

    def truncate(self, size: int) -> None:
        assert self._writable, self._path
        self._disk.call("truncate", self._path, size)
        self._inode.truncate(size, self._disk.next_serial())

    def sync(self) -> None:
        try:
            self._disk.call("sync", self._path)
        except OSError:
            self._inode.fail_sync()
            raise
        self._inode.sync()

    def size(self) -> int:
        self._disk.call("size", self._path)
        return self._inode.size

    def close(self) -> None:
        """Close the file, without a sync or an error."""


class SimulatedLock:
    """A lock that is lost at a power loss."""

    def __init__(self, disk: SimulatedDisk, path: str, owner: str) -> None:
        self._disk = disk
        self.path = path
        self.owner = owner

    def release(self) -> None:
        self._disk.free(self)
