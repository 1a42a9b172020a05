"""Check whether a running Kafka node has locked a directory's `.lock`, without taking the lock."""

import fcntl
import os
import struct
import sys
from pathlib import Path

# struct flock of Linux: type, whence, start, length, pid.
_FLOCK = struct.Struct("@hhqqi4x")


def is_locked(path: Path) -> bool:
    """True if another process on this machine has a lock on the file.

    This is known only on Linux; on other systems the result is False.
    """
    if sys.platform != "linux":
        return False
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
    finally:
        os.close(file)
    return bool(kind != fcntl.F_UNLCK)
