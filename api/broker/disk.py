"""A broker's disk work: a thread pool, a cache of open files, and a signal for the health check.

The event loop never waits for a disk. Calls may be executed in any order; callers that need an
order use a lock.
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
"""Idle files may take 1/4 of the descriptors; connections need most of the rest."""

_CHECK_SIZE_BYTES = 4_096

_OPEN_FILES_MIN, _OPEN_FILES_MAX = 4, 4_096


class Disk:
    """Runs disk work in threads.

    Attributes:
        files: Open files of the partition logs.
        trouble: Set when disk work fails; the health check then tests the disks.
    """

    def __init__(self, descriptor_limit: int) -> None:
        """Create the thread pool, without starting threads.

        Args:
            descriptor_limit: The process's limit of open files.
        """
        idle_max = descriptor_limit // _OPEN_FILES_DIVISOR
        self.files = OpenFiles(min(max(idle_max, _OPEN_FILES_MIN), _OPEN_FILES_MAX))
        self.trouble = asyncio.Event()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="disk")
        self._begun: dict[int, float] = {}

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a thread and return its result.

        If the call is cancelled, the function still runs to its end.

        Raises:
            OSError: raised by the function.
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
        """Time since the start of the oldest unfinished work, in seconds; 0 if there is none."""
        begun = list(self._begun.values())
        return time.monotonic() - min(begun) if begun else 0.0

    def close(self) -> None:
        """Wait for the work in progress and stop the threads."""
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
    """Check that a folder can be written: write a small file, sync it and remove it.

    Raises:
        OSError: the disk is full, failing or read-only, or the process has no file descriptors
            left.
    """
    path = os.path.join(folder, ".health")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        left = _CHECK_SIZE_BYTES
        while left:
            # A full disk may still take a few bytes before the error.
            left -= os.write(descriptor, bytes(left))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
        os.unlink(path)
