"""The service's time: the machine's, and onwards from there when that one is set back."""

import time
from collections.abc import Callable

from metadata_log.clock import Clock


def monotonic_ms() -> int:
    """Return milliseconds since some moment; nobody can set them."""
    return time.monotonic_ns() // 1_000_000


class SteadyClock:
    """Never goes back, and never stands still.

    Sessions of brokers and timers are measured by it: until a clock that was set back by an hour
    had caught up, nobody would be fenced. Nor while the log's last time is still to come, and no
    decision may be given an earlier one.
    """

    def __init__(
        self, clock: Clock, start_ms: int, *, steady_ms: Callable[[], int] = monotonic_ms
    ) -> None:
        """Start at the clock's time or `start_ms`, whichever is later; ms since 1970."""
        self._clock = clock
        self._steady_ms = steady_ms
        self._seen_at_ms = steady_ms()
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC, as far as the clock is right."""
        steady_ms = self._steady_ms()
        onwards_ms = self._now_ms + steady_ms - self._seen_at_ms
        self._now_ms, self._seen_at_ms = max(self._clock.now_ms(), onwards_ms), steady_ms
        return self._now_ms
