"""A service's background jobs: when they run, and their statistics for the metrics."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator

import msgspec

from api.transport.shutdown import cancel_all

_LOOK_S = 1.0
"""How soon a job follows a change of the leader."""


class JobRuns(msgspec.Struct):
    """Counts the runs of one background job.

    Attributes:
        name: The job's name in the metrics.
        end_offset: End of the records covered so far, exclusive; None before the first run.
        done: Number of successful runs.
        failed: Number of failed runs.
        is_running: True while a run is in progress.
        done_at_s: End of the latest successful run, in seconds since 1970; None if there was none.
        took_s: Duration of the latest successful run, in seconds.
    """

    name: str
    end_offset: int | None = None
    done: int = 0
    failed: int = 0
    is_running: bool = False
    done_at_s: float | None = None
    took_s: float = 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the body as a run; the run counts as failed unless the body calls `succeed`."""
        before, begun_s = self.done, time.monotonic()
        self.is_running = True
        try:
            yield
        finally:
            self.is_running = False
            if self.done == before:
                self.failed += 1
            else:
                self.took_s = time.monotonic() - begun_s

    def succeed(self, end_offset: int | None = None) -> None:
        """Record a success, and the end of the records covered, if given."""
        self.done += 1
        self.done_at_s = time.time()
        if end_offset is not None:
            self.end_offset = end_offset


async def while_active(
    is_active: Callable[[], bool], run: Callable[[], Coroutine[None, None, None]]
) -> None:
    """Run a job whenever this process decides, and end it when it no longer does."""
    while True:
        if is_active():
            job = asyncio.create_task(run())
            try:
                while is_active() and not job.done():
                    await asyncio.sleep(_LOOK_S)
            finally:
                await cancel_all(job)
        await asyncio.sleep(_LOOK_S)
