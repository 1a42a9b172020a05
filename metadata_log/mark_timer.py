"""Timer for syncing the commit mark: at most one sync per interval, not one per append."""

import asyncio
from collections.abc import Callable

from metadata_log.limits import MARK_SYNC_INTERVAL_MS


class MarkTimer:
    """Timer that runs from the publishing of a commit mark until the mark should be synced.

    Attributes:
        is_due: True once the interval is over; reset by the task that syncs the mark.
    """

    def __init__(self, on_due: Callable[[], None]) -> None:
        """Make a stopped timer; `on_due` is called when the mark is due."""
        self._on_due = on_due
        self._handle: asyncio.TimerHandle | None = None
        self.is_due = False

    def start(self) -> None:
        """Start the timer, unless it is running; the mark is due after MARK_SYNC_INTERVAL_MS."""
        if self._handle is None:
            loop = asyncio.get_running_loop()
            self._handle = loop.call_later(MARK_SYNC_INTERVAL_MS / 1_000, self._end)

    def stop(self) -> None:
        """Stop the timer without syncing the mark."""
        if self._handle is not None:
            self._handle.cancel()

    def _end(self) -> None:
        self._handle = None
        self.is_due = True
        self._on_due()
