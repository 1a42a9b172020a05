"""Statistics of a service's background jobs, for its metrics."""

import contextlib
import time
from collections.abc import Iterator

import msgspec


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
