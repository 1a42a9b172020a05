"""Where times come from: a machine's clocks, and a clock that a test or a simulation brings."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC."""
        ...


class MachineClocks(Protocol):
    """The two clocks of a machine, in nanoseconds."""

    def wall_ns(self) -> int:
        """Return the time since 1970, UTC; it can be set, and NTP corrects it."""
        ...

    def boot_ns(self) -> int:
        """Return the time since some moment; it cannot be set, and counts a suspended machine."""
        ...


class SystemClock:
    """The machine's wall clock as it is."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class SystemClocks:
    """The clocks of this machine.

    Where the system has no boot clock, the monotonic one stands in. If that one stands still while
    the machine is suspended, waking up looks as if the wall clock had been set ahead.
    """

    def wall_ns(self) -> int:
        return time.time_ns()

    if hasattr(time, "CLOCK_BOOTTIME"):

        def boot_ns(self) -> int:
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    else:

        def boot_ns(self) -> int:
            return time.monotonic_ns()
