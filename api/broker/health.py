"""Disk health: a broker that cannot write or open files asks to be fenced.

Disks are tested when disk work fails or takes very long: a small file is written and synced in
every log directory. While that fails or takes too long, the broker's heartbeats ask for fencing, so
that other brokers lead. The test repeats until it succeeds. It also runs when the process has no
file descriptors left, even while the disks are idle.

An error of a single partition, such as a folder that cannot be renamed, does not lead to fencing.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence

from api.broker.disk import Disk, check_writable
from api.broker.log_directory import LogDirectory

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_SLOW_S = 10.0
"""Disk work or a test that takes longer counts as a hanging disk."""

_STANDARD_ERROR = 2


class Health:
    """Checks that the log directories can be written.

    Attributes:
        problem: The reason why a log directory cannot be written; None if all can be written.
    """

    def __init__(
        self,
        disk: Disk,
        directories: Sequence[LogDirectory],
        *,
        recovered: Callable[[], None],
        slow_s: float = _SLOW_S,
        look_s: float = _LOOK_S,
    ) -> None:
        """Create the check, which has found no problem yet.

        Args:
            recovered: Called each time a problem is over.
            slow_s: If disk work takes longer than this, the disks are tested; a test that takes
                longer has failed. In seconds.
            look_s: Seconds between two checks.
        """
        self._disk = disk
        self._directories = directories
        self._recovered = recovered
        self._slow_s = slow_s
        self._look_s = look_s
        self.problem: str | None = None

    async def watch(self) -> None:
        """Check periodically if the disks must be tested; if so, test them. Never returns."""
        while True:
            await asyncio.sleep(self._look_s)
            is_slow = self._disk.longest_s > self._slow_s
            if self._disk.trouble.is_set() or is_slow or self.problem or not _can_open_files():
                self._disk.trouble.clear()
                self._note(await self._found())

    def _note(self, problem: str | None) -> None:
        if problem is not None and self.problem is None:
            log.error("this broker cannot serve, and asks to be fenced: %s", problem)
        if problem is None and self.problem is not None:
            log.warning("this broker can serve again")
            self._recovered()
        self.problem = problem

    async def _found(self) -> str | None:
        for directory in self._directories:
            try:
                async with asyncio.timeout(self._slow_s):
                    await self._disk.run(check_writable, directory.path)
            except TimeoutError:
                return f"{directory.path} does not answer within {self._slow_s:g} s"
            except OSError as error:
                return f"{directory.path}: {error.strerror or error}"
        return None


def _can_open_files() -> bool:
    """True if the process can open another file descriptor."""
    try:
        os.close(os.dup(_STANDARD_ERROR))
    except OSError:
        return False
    return True
