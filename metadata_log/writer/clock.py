"""Sources of time: the machine's clocks, or a clock supplied by a test or simulation."""

import time
from typing import Protocol


class Clock(Protocol):
    """A wall clock."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC."""
        ...


class MachineClocks(Protocol):
    """The two clocks of a machine, in nanoseconds."""

    def wall_ns(self) -> int:
        """Return the time since 1970, UTC. The clock can be set, and NTP corrects it."""
        ...

    def boot_ns(self) -> int:
        """Return the time since a fixed moment. This clock cannot be set, and does not stop in
        suspend.
        """
        ...


class SystemClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class SystemClocks:
    """The clocks of this machine.

    Where the system has no boot clock, the monotonic clock is used instead. If that clock stops
    while the machine is suspended, a resume looks as if the wall clock had been set ahead.
    """

    def wall_ns(self) -> int:
        return time.time_ns()

    if hasattr(time, "CLOCK_BOOTTIME"):

        def boot_ns(self) -> int:
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    else:

        def boot_ns(self) -> int:
            return time.monotonic_ns()
