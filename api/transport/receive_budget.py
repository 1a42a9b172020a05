"""Memory for large frames, shared by all connections of a process.

A connection requests a share once it knows the length of a frame, and reads the frame once the
share is granted. The smallest waiting frame is served next. A connection that has a share and sends
too slowly while others wait is closed.
"""

from collections.abc import Callable

from api.transport import limits

Close = Callable[[str], None]


class Share:
    """One frame's part of the budget, from the announcement of the frame's length to its answer.

    Attributes:
        is_granted: True if the frame may be read.
    """

    def __init__(
        self, budget: "ReceiveBudget", size_bytes: int, granted: Callable[[], None], close: Close
    ) -> None:
        """Create a share; only for `ReceiveBudget.ask`."""
        self._budget = budget
        self.size_bytes = size_bytes
        self.granted = granted
        self.close = close
        self.is_granted = False
        self._received = 0
        # At the last progress: time, and bytes received.
        self._progress_at = 0.0
        self._progress_bytes = 0

    def grant(self, now: float) -> None:
        """Allow the frame to be read."""
        self.is_granted = True
        self._progress_at = now

    def received(self, size_bytes: int, now: float) -> None:
        """Record a received part of the frame."""
        self._received += size_bytes
        if self._received - self._progress_bytes >= limits.PROGRESS_BYTES:
            self._progress_at, self._progress_bytes = now, self._received

    def is_stalled(self, now: float) -> bool:
        """True if the frame is incomplete and has made no progress for too long."""
        is_whole = self._received >= self.size_bytes
        return not is_whole and now - self._progress_at > limits.STALL_TIMEOUT_S

    def release(self) -> None:
        """Return the share, or stop waiting for it; may be called again."""
        self._budget.release(self)


class ReceiveBudget:
    """Grants shares of `bytes_max`; a larger frame gets a share when no other share is granted."""

    def __init__(self, bytes_max: int, clock: Callable[[], float]) -> None:
        self._bytes_max = bytes_max
        self._clock = clock
        # Dicts, because they are ordered and allow removal from anywhere.
        self._granted: dict[Share, None] = {}
        self._waiting: dict[Share, None] = {}
        self.held_bytes = 0

    def ask(self, size_bytes: int, *, granted: Callable[[], None], close: Close) -> Share:
        """Request a share.

        Args:
            granted: Called once when the frame may be read, unless the share is granted
                immediately.
            close: Called with the reason if the connection must be closed.
        """
        share = Share(self, size_bytes, granted, close)
        if self._has_room_for(share):
            self._grant(share)
        else:
            self._waiting[share] = None
        return share

    def release(self, share: Share) -> None:
        """Take back a share, and grant others."""
        self._waiting.pop(share, None)
        if share in self._granted:
            del self._granted[share]
            self.held_bytes -= share.size_bytes
        while self._waiting:
            smallest = min(self._waiting, key=lambda waiting: waiting.size_bytes)
            if not self._has_room_for(smallest):
                return
            del self._waiting[smallest]
            self._grant(smallest)
            smallest.granted()

    def close_stalled(self) -> None:
        """Close connections that have a share but send nothing, while others are waiting."""
        if not self._waiting:
            return
        now = self._clock()
        for share in [share for share in self._granted if share.is_stalled(now)]:
            share.close(f"a frame of {share.size_bytes} bytes came too slowly while others waited")

    def _has_room_for(self, share: Share) -> bool:
        return not self.held_bytes or self.held_bytes + share.size_bytes <= self._bytes_max

    def _grant(self, share: Share) -> None:
        self._granted[share] = None
        self.held_bytes += share.size_bytes
        share.grant(self._clock())
