"""Whether a running Kafka node holds a directory's `.lock`. The lock itself is never taken."""

import fcntl
import os
import struct
import sys
from pathlib import Path

# struct flock of Linux: type, whence, start, length, pid.
_FLOCK = struct.Struct("@hhqqi4x")


def is_locked(path: Path) -> bool:
    """True if another process on this machine holds a lock on the file.

    Only Linux can tell; elsewhere the answer is False.
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
