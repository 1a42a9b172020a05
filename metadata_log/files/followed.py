"""Followers of a mirror, which tell its writer that they wait: they touch a file of the mirror.

The writer makes the file; followers that may not write to the directory are not noticed, and wait
longer. Times of the file are only compared with each other, so the machines' clocks do not matter.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from metadata_log.limits import FOLLOWED_FOR_MS, FOLLOWED_NOTE_INTERVAL_MS

FOLLOWED = ".followed"
"""Name of the file, in the mirror's directory."""


class FollowerNote:
    """Touches the file, at intervals, as long as a process follows a log."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Follow the log in a directory; `clock` returns seconds."""
        self._path = directory / FOLLOWED
        self._clock = clock
        self._noted_at = float("-inf")

    def renew(self) -> None:
        """Touch the file if it exists and that is due."""
        now = self._clock()
        if (now - self._noted_at) * 1_000 < FOLLOWED_NOTE_INTERVAL_MS:
            return
        self._noted_at = now
        with contextlib.suppress(OSError):
            os.utime(self._path)


class Followers:
    """Whether anyone follows a mirror."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Make the file if there is none; without it, nobody is noticed."""
        self._path = directory / FOLLOWED
        self._clock = clock
        self._seen_at = float("-inf")
        with contextlib.suppress(OSError):
            self._path.touch()
            os.utime(self._path, (0, 0))  # later touches differ, however coarse the times are
        self._touched = self._touched_ns()

    def are_there(self) -> bool:
        """Return whether the file was touched lately: one `stat`."""
        touched, now = self._touched_ns(), self._clock()
        if touched != self._touched:
            self._touched, self._seen_at = touched, now
        return (now - self._seen_at) * 1_000 < FOLLOWED_FOR_MS

    def _touched_ns(self) -> int:
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0
