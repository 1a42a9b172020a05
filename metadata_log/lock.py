"""One writer a directory: an OS lock on `.lock`.

`flock`, never `lockf`: a POSIX record lock is granted to a second open in the same process, and
closing that one would free it. The file is never removed, or two writers could lock two files.
"""

import fcntl
import os
from pathlib import Path

from metadata_log.fs import FILE_MODE
from metadata_log.names import LOCK
from records.errors import UnavailableError


class DirectoryLock:
    """Holds the lock from construction until `release`."""

    def __init__(self, directory: Path) -> None:
        """Take the lock.

        Raises:
            UnavailableError: another writer holds it; names its process.
        """
        path = directory / LOCK
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise UnavailableError(
                f"{directory} is being written by process {holder or 'unknown'}; "
                "stop it, or use its service"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock up."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def writer_process(directory: Path) -> int | None:
    """Return the process id of the current writer, None when there is none."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 32, 0).strip()
        return int(text) if text.isdigit() else None
    else:
        return None
    finally:
        os.close(descriptor)
