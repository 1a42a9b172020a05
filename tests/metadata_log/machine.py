"""A simulated machine whose clock can be set, and which can be suspended."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
START_MS = 1_700_000_000_000


class Machine:
    """A wall clock and a boot clock. `wait` advances both; `set_ahead` sets the wall clock."""

    def __init__(self, wall_ms: int = START_MS) -> None:
        self.wall_ms = wall_ms
        self.boot_ms = 50

    def wall_ns(self) -> int:
        return self.wall_ms * 1_000_000

    def boot_ns(self) -> int:
        return self.boot_ms * 1_000_000

    def wait(self, duration_ms: int) -> None:
        """Let time pass, running or suspended."""
        self.wall_ms += duration_ms
        self.boot_ms += duration_ms

    def set_ahead(self, by_ms: int) -> None:
        """Set the wall clock ahead; back if negative."""
        self.wall_ms += by_ms
