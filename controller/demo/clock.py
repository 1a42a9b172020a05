"""A clock that only the simulation advances."""

from datetime import UTC, datetime

DEMO_START_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1_000)
"""Start time of every demo, for every seed."""


class SimulatedClock:
    """Clock that only the simulation advances.

    The log must be opened with the same clock; the times it writes would otherwise be ahead of the
    demo's.
    """

    def __init__(self) -> None:
        self._now_ms = DEMO_START_MS

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC."""
        return self._now_ms

    def advance(self, elapsed_ms: int) -> None:
        """Move the clock forward."""
        assert elapsed_ms >= 0, "time does not go back"
        self._now_ms += elapsed_ms
