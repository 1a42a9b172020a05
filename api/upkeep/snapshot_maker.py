"""Automatic snapshots of a running service, each made by a child process.

Building a snapshot walks the whole image in Python. A thread would block the interpreter and delay
appends, so a child runs `metalog snapshot create` at the lowest priority. It reads the log like any
reader; the service sees only its exit code.
"""

import asyncio
import logging
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from api.child import end, start_command
from api.upkeep.jobs import JobRuns

_LOOK_EVERY_S = 1.0

# Maximum share of the time. Snapshots of a large image take long, so they are made less often.
_SHARE_MAX = 0.1

# A child that takes longer is considered hung.
_TIME_MAX_S = 3_600

log = logging.getLogger(__name__)


class SnapshotMaker:
    """Makes a snapshot whenever enough records were committed since the last one; one at a time.

    Attributes:
        job: Statistics of its runs.
    """

    def __init__(
        self, directory: Path, every: int, keep: int, end_offset: Callable[[], int], newest: int
    ) -> None:
        """Store the arguments; `run` makes the snapshots.

        Args:
            every: Records between two snapshots.
            end_offset: Returns the end of the committed records, exclusive.
            newest: End offset of the newest snapshot; 0 if there is none.
        """
        self._directory = directory
        self._every = every
        self._rotate = ("--rotate", str(keep)) if keep else ()
        self._end_offset = end_offset
        self._last = newest
        self.job = JobRuns(name="snapshot", end_offset=newest)

    async def run(self) -> None:
        """Watch the log and make snapshots until cancelled.

        Cancelling ends a child still running.
        """
        while True:
            while self._end_offset() - self._last < self._every:
                await asyncio.sleep(_LOOK_EVERY_S)
            # After a failure too: the next attempt comes after the same number of records.
            self._last = self._end_offset()
            started = time.monotonic()
            with self.job.running():
                try:
                    await self._make()
                except OSError as error:
                    log.warning("no snapshot of %s: %s", self._directory, error)
            took_s = time.monotonic() - started
            await asyncio.sleep(took_s / _SHARE_MAX - took_s)

    async def _make(self) -> None:
        child = await start_command(
            *("snapshot", "create", str(self._directory), "--at", str(self._last - 1)),
            *self._rotate,
            stdout=subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(_TIME_MAX_S):
                _, errors = await child.communicate()
        except TimeoutError:
            log.warning("no snapshot of %s: it took more than %s s", self._directory, _TIME_MAX_S)
            return
        finally:
            await end(child)
        if child.returncode == 0:
            self.job.succeed(self._last)
            log.info("made a snapshot of %s at end offset %s", self._directory, self._last)
        else:
            reason = errors.decode(errors="replace").strip()
            log.warning("no snapshot of %s: %s", self._directory, reason or child.returncode)
