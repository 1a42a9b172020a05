"""What a service does in the background, as its metrics tell it."""

import contextlib
import time
from collections.abc import Iterator

import msgspec


class JobRuns(msgspec.Struct):
    """The runs of one job.

    Attributes:
        name: As the metrics name it.
        end_offset: What it has covered ends here, exclusive; None before the first run.
        done: Runs that succeeded.
        failed: Runs that did not.
        is_running: One runs now.
        done_at_s: End of the newest one that succeeded, in seconds since 1970; None without one.
        took_s: How long it took, in seconds.
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
        """Count a run that the body makes; it has failed unless it calls `succeed`."""
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
        """Record a success, and how far it came."""
        self.done += 1
        self.done_at_s = time.time()
        if end_offset is not None:
            self.end_offset = end_offset
