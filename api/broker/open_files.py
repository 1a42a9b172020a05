"""A cache of open partition log files.

When the cache is full, it closes the least recently used file. A file in use is not in the cache,
so at most `idle_max` files plus one per working thread are open.
"""

import contextlib
import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from pathlib import Path

_MODE = 0o600
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)


class OpenFiles:
    """A thread-safe cache of file descriptors; callers choose the key of each file."""

    def __init__(self, idle_max: int) -> None:
        """Create an empty cache, which keeps at most `idle_max` unused files open."""
        self._idle_max = idle_max
        self._idle: OrderedDict[Hashable, int] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def use(self, key: Hashable, path: Path, *, create: bool = False) -> Iterator[int]:
        """Yield the descriptor of a file, open for reading and writing.

        A key must not be used by two callers at the same time.

        Args:
            create: True creates a missing file.

        Raises:
            OSError: the file cannot be opened.
        """
        with self._lock:
            descriptor = self._idle.pop(key, None)
        if descriptor is None:
            descriptor = self._open(path, os.O_CREAT if create else 0)
        try:
            yield descriptor
        finally:
            with self._lock:
                self._idle[key] = descriptor
                self._close_above(self._idle_max)

    def forget(self, key: Hashable) -> None:
        """Close the file with a key, if it is open and not in use."""
        with self._lock:
            descriptor = self._idle.pop(key, None)
        if descriptor is not None:
            os.close(descriptor)

    def _open(self, path: Path, more_flags: int) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | more_flags
        try:
            return os.open(path, flags, _MODE)
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
        # Connections took the descriptors meant for the cache.
        with self._lock:
            self._close_above(0)
        return os.open(path, flags, _MODE)

    def _close_above(self, count: int) -> None:
        while len(self._idle) > count:
            _, descriptor = self._idle.popitem(last=False)
            os.close(descriptor)
