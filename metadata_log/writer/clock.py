"""The clock of a log's writer: follows the machine's wall clock, but never jumps with it.

The boot clock measures elapsed time; the wall clock gives the time of day, but can be set. On each
reading

- the believed time advances by the time the boot clock has measured;
- if the wall clock is within CLOCK_JUMP_MS of the believed time, it was corrected (NTP, drift) and
  becomes the believed time;
- if the wall clock is further off, it was set by hand: it is ignored, with a warning;
- the log's time moves towards the believed time, faster or slower than real time by at most one
  part in CLOCK_SLEW. So it never jumps, goes back or stops.

At the start the wall clock is believed, however long the log was closed. If the last record is
later than the wall clock, the log's time continues from that record, slower than real time, until
the wall clock has caught up.
"""

import logging
import time
from pathlib import Path
from typing import Protocol

from metadata_log.format.tail import Tail
from metadata_log.limits import (
    CLOCK_AHEAD_WARNING_MS,
    CLOCK_JUMP_MS,
    CLOCK_SLEW,
    CLOCK_WARNING_INTERVAL_MS,
)
from records.text import time_text

_LOG = logging.getLogger(__name__)

_MS = 1_000_000
"""Nanoseconds in a millisecond."""


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


class LogClock:
    """The clock of one log writer; follows the machine's wall clock without jumping."""

    def __init__(
        self, last_timestamp_ms: int, *, name: str, machine: MachineClocks | None = None
    ) -> None:
        """Start at the machine's time, or at the log's last time if that is later.

        Args:
            last_timestamp_ms: Append time of the last record, ms since 1970; 0 for an empty log.
            name: Name of the log in warnings.
            machine: None means this machine's clocks.
        """
        self._machine = machine or SystemClocks()
        self._name = name
        self._seen_boot_ns = self._machine.boot_ns()
        self._believed_ns = self._machine.wall_ns()
        self._now_ns = max(self._believed_ns, last_timestamp_ms * _MS)
        self._knows_of_jump = False
        self._warned_boot_ns: int | None = None
        if self._now_ns - self._believed_ns >= CLOCK_AHEAD_WARNING_MS * _MS:
            self._warn_of_last_record()

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC; right if the machine's clock was right."""
        boot_ns = self._machine.boot_ns()
        elapsed_ns = boot_ns - self._seen_boot_ns
        self._seen_boot_ns = boot_ns
        self._believed_ns += elapsed_ns
        self._look_at(self._machine.wall_ns())
        onwards_ns = self._now_ns + elapsed_ns
        slew_ns = elapsed_ns // CLOCK_SLEW
        self._now_ns = min(max(self._believed_ns, onwards_ns - slew_ns), onwards_ns + slew_ns)
        return self._now_ns // _MS

    def _look_at(self, wall_ns: int) -> None:
        """Adopt the wall clock as the believed time, unless it was set by hand."""
        jump_ns = wall_ns - self._believed_ns
        if abs(jump_ns) <= CLOCK_JUMP_MS * _MS:
            self._believed_ns = wall_ns
            self._knows_of_jump = False
        elif not self._knows_of_jump and self._may_warn():
            self._knows_of_jump = True
            self._warn_of_jump(wall_ns)

    def _may_warn(self) -> bool:
        """True if the last warning is long enough ago, so that an unstable clock does not fill the
        disk.
        """
        last, now = self._warned_boot_ns, self._seen_boot_ns
        if last is not None and now - last < CLOCK_WARNING_INTERVAL_MS * _MS:
            return False
        self._warned_boot_ns = now
        return True

    def _warn_of_jump(self, wall_ns: int) -> None:
        _LOG.warning(
            "%s: the machine's clock was set to %s, %s; times in the log go on from %s and do not "
            "follow it; if it is right now, restart the writer",
            self._name,
            time_text(wall_ns // _MS),
            _difference_text(wall_ns - self._believed_ns),
            time_text(self._now_ns // _MS),
        )

    def _warn_of_last_record(self) -> None:
        _LOG.warning(
            "%s: the last record is of %s, the machine's clock says %s, %s; times in the log go on "
            "from the last record, one part in %d slower until the clock has caught up",
            self._name,
            time_text(self._now_ns // _MS),
            time_text(self._believed_ns // _MS),
            _difference_text(self._believed_ns - self._now_ns),
            CLOCK_SLEW,
        )


def _difference_text(difference_ns: int) -> str:
    """Return a time difference as text, such as `3600 s behind`."""
    return f"{abs(difference_ns) / 1e9:.0f} s {'ahead' if difference_ns > 0 else 'behind'}"


def log_clock(directory: Path, tail: Tail, machine: MachineClocks | None) -> LogClock:
    """Return the clock of a log that continues at a tail; `machine`: None means this machine's."""
    return LogClock(tail.max_timestamp or 0, name=str(directory), machine=machine)
