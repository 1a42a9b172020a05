"""Notices that a leader's high watermark stands still, so that another controller is asked.

A leader that is cut off from the quorum commits nothing any more, and up to Kafka 3.6 it does not
resign: to a reader that reaches it, it looks like the leader of an idle quorum. With a
metadata.version of 3.3-IV1 or later an idle leader commits a NoOp every 500 ms, so a high watermark
that stands still is rare; with an earlier one it is usual. So the other controllers are asked one
at a time, and ever more seldom.

Source: KAFKA-15489 (check quorum), MetadataLogConfig (metadata.max.idle.interval.ms).
"""

import time
from collections.abc import Callable

FIRST_S = 10.0
"""Seconds until another controller is asked: twenty NoOps, and longer than an election."""

_LONGEST_S = 300.0


class Standstill:
    """Decides when another controller is to be asked."""

    def __init__(
        self, first_s: float = FIRST_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin before the first answer.

        Args:
            first_s: Seconds until another controller is asked; doubled after each time.
            clock: Returns seconds.
        """
        self._first_s = first_s
        self._clock = clock
        self._high_watermark: int | None = None
        self._wait_s = first_s
        self._due = 0.0

    def is_due(self, high_watermark: int) -> bool:
        """Note an answer's high watermark; return whether to ask another controller now."""
        now = self._clock()
        if self._high_watermark is None or high_watermark > self._high_watermark:
            self._high_watermark = high_watermark
            self._wait_s, self._due = self._first_s, now + self._first_s
            return False
        if now < self._due:
            return False
        self._wait_s = min(self._wait_s * 2, _LONGEST_S)
        self._due = now + self._wait_s
        return True
