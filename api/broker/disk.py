"""Disk work of a broker: a few threads, a few open files, and whether the disks still work.

The event loop never waits for a disk. Whoever needs an order keeps it with a lock of its own.
"""

import asyncio
import functools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from api.broker.open_files import OpenFiles

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 8
_OPEN_FILES_DIVISOR = 4
"""Part of the descriptors that idle files may take; connections need most of the rest."""

_CHECK_SIZE_BYTES = 4_096

_OPEN_FILES_MIN, _OPEN_FILES_MAX = 4, 4_096


class Disk:
    """Runs disk work in threads.

    Attributes:
        files: Open files of the partition logs.
        trouble: Set when some work has failed; the health check looks at the disks then.
    """

    def __init__(self, descriptor_limit: int) -> None:
        """Start no thread yet.

        Args:
            descriptor_limit: Open files that the process may have.
        """
        idle_max = descriptor_limit // _OPEN_FILES_DIVISOR
        self.files = OpenFiles(min(max(idle_max, _OPEN_FILES_MIN), _OPEN_FILES_MAX))
        self.trouble = asyncio.Event()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="disk")
        self._begun: dict[int, float] = {}

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a thread and return its result. A cancelled call still runs to its end.

        Raises:
            OSError: as the function does.
        """
        loop = asyncio.get_running_loop()
        try:
            call = functools.partial(work, *args, **kwargs)
            return await loop.run_in_executor(self._pool, self._timed, call)
        except OSError:
            self.trouble.set()
            raise

    @property
    def longest_s(self) -> float:
        """Return for how long the oldest unfinished work has been running."""
        begun = list(self._begun.values())
        return time.monotonic() - min(begun) if begun else 0.0

    def close(self) -> None:
        """Wait for the work that is under way."""
        self._pool.shutdown()

    def _timed(self, work: Callable[[], T]) -> T:
        # A thread does one thing at a time.
        thread = threading.get_ident()
        self._begun[thread] = time.monotonic()
        try:
            return work()
        finally:
            del self._begun[thread]


def check_writable(folder: os.PathLike[str]) -> None:
    """Write a small file to stable storage and remove it.

    Raises:
        OSError: the disk is full, failing or read-only, or the process is out of descriptors.
    """
    path = os.path.join(folder, ".health")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        left = _CHECK_SIZE_BYTES
        while left:
            # The last bytes of a full disk are written before the error comes.
            left -= os.write(descriptor, bytes(left))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
        os.unlink(path)
