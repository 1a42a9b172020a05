"""Reloads certificates, keys and tokens on SIGHUP, for later connections and requests."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Iterator
from typing import Any

from records.errors import RequestError

log = logging.getLogger(__name__)

Use = Callable[[], Any]
"""Applies the files that were read."""

PAUSE_S = 1.0
"""Pause between two reloads. Signals during the pause count as one, so that many of them do not
delay requests."""


class Renewal:
    """Reloads files: all are read before any is used, so that a faulty file changes nothing."""

    def __init__(self) -> None:
        self._reads: list[Callable[[], Use]] = []
        self._has_begun = self._is_asked = False
        self._not_before = 0.0
        # The reading that is still to come.
        self._timer: asyncio.TimerHandle | None = None

    def add(self, read: Callable[[], Use]) -> None:
        """Register a function that reads files; the function it returns applies them.

        The registered function raises RequestError if a file is faulty.
        """
        self._reads.append(read)

    def begin(self) -> None:
        """Allow reloading, once all functions are added.

        If a reload was requested before, it is run now.
        """
        self._has_begun = True
        if self._is_asked:
            self.ask()

    def ask(self) -> None:
        """Request a reload: immediately, or once the pause after the last reload is over."""
        self._is_asked = True
        if self._has_begun and self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(self._not_before, self.run)

    def stop(self) -> None:
        """Cancel a pending reload."""
        if self._timer is not None:
            self._timer.cancel()

    def run(self) -> None:
        """Reload everything; log the result."""
        self._timer = None
        self._not_before = asyncio.get_running_loop().time() + PAUSE_S
        try:
            uses = [read() for read in self._reads]
        except RequestError as error:
            log.error("SIGHUP: nothing is changed: %s", error)
            return
        for use in uses:
            use()
        log.warning("SIGHUP: certificates, keys and tokens were read again")


@contextlib.contextmanager
def renewed_by_signal() -> Iterator[Renewal]:
    """Yield a `Renewal` that SIGHUP triggers, instead of ending the process.

    SIGHUP is blocked from the start of the process until now; a SIGHUP received in that time
    triggers the `Renewal`, too.
    """
    renewal = Renewal()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, renewal.ask)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    try:
        yield renewal
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        renewal.stop()
