"""Durable commit of a group of batches: in the log's own folder, or in a shared log first."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from metadata_log.limits import QUICK_SYNC_S_MAX, QUICK_SYNCS_MIN
from metadata_log.writer.log_writer import LogWriter
from metadata_log.writer.request_window import RunBlocking


class GroupCommit(Protocol):
    """Makes the groups of batches of one leader epoch durable.

    After an error with outcome NOTHING the writer's tail is the same as before the group.

    Attributes:
        patience_s: How long a group may wait for callers who were just answered, and will mostly
            ask again.
    """

    leader_epoch: int
    run_blocking: RunBlocking
    patience_s: float

    async def start_segment(self) -> None:
        """Start a segment at the writer's tail."""
        ...

    async def commit(self, *, is_alone: bool) -> float:
        """Commit everything that was written, and return how many seconds that took.

        Args:
            is_alone: True if one batch was written, and no other batch waits.
        """
        ...


class FolderCommit:
    """Commits by a sync of the log's own files, which takes less than to wait for callers."""

    patience_s = 0.0

    def __init__(self, writer: LogWriter, leader_epoch: int, run_blocking: RunBlocking) -> None:
        self._writer = writer
        self.leader_epoch = leader_epoch
        self.run_blocking = run_blocking
        self._quick_syncs = 0

    async def start_segment(self) -> None:
        """Start a segment; errors as for `LogWriter.start_segment`."""
        await self.run_blocking(partial(self._writer.start_segment, self.leader_epoch))

    async def commit(self, *, is_alone: bool) -> float:
        """Sync what was written and move the commit mark; errors as for `LogWriter.commit`."""
        # If more batches wait, let the event loop run between two groups.
        if is_alone and self._quick_syncs >= QUICK_SYNCS_MIN:
            took_s = self._writer.commit()
        else:
            took_s = await _result(self.run_blocking, self._writer.commit)
        self._quick_syncs = self._quick_syncs + 1 if took_s < QUICK_SYNC_S_MAX else 0
        return took_s


async def _result(run_blocking: RunBlocking, call: Callable[[], float]) -> float:
    took: list[float] = []
    await run_blocking(lambda: took.append(call()))
    return took[0]


def in_own_thread() -> RunBlocking:
    """Return a function that runs calls one after the other in a thread of the writer.

    The event loop's default threads also serve readers; a few long reads would occupy all of them
    and delay every sync. The thread ends when the function is no longer referenced.
    """
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata log")

    async def run(call: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(executor, call)

    return run
