"""The writer's lock: an OS lock on `.lock`, a file with the writer's process id."""

import fcntl
import os
from pathlib import Path

from metadata_log.files.fs import Fs, Lock, full_as_unavailable
from metadata_log.files.names import LOCK
from records.errors import UnavailableError


def lock_directory(fs: Fs, directory: Path) -> Lock:
    """Lock a log directory.

    Raises:
        UnavailableError: another writer has the lock (the message gives its process), or the disk
            is too full to write this process's id.
    """
    try:
        with full_as_unavailable(directory):
            return fs.lock(directory / LOCK, f"{os.getpid()}\n")
    except BlockingIOError as error:
        raise UnavailableError(
            f"{directory} is being written by process {str(error) or 'unknown'}; stop that "
            "process, or use its service"
        ) from error


def writer_process(directory: Path) -> int | None:
    """Return the process id of the current writer; None if there is no writer."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
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
