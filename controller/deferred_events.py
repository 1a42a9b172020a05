"""Events that wait, in order, until a decision can be made: each makes one."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from metadata_log.limits import PENDING_BATCHES_MAX
from records.errors import UnavailableError

Event = Callable[[], None]


class DeferredEvents:
    """Queue of events, limited in number; an event never overtakes one that waits."""

    def __init__(self, is_free: Callable[[], bool]) -> None:
        """Start empty.

        Args:
            is_free: Tells whether an event can be processed now; an event may change that.
        """
        self._is_free = is_free
        self._events: deque[Event] = deque()

    def __bool__(self) -> bool:
        return bool(self._events)

    def process(self, event: Event, future: asyncio.Future[Any]) -> None:
        """Process an event after those that wait; if too many do, `future` gets an error.

        Errors (set on `future`):
            UnavailableError: too many events wait.
        """
        self.process_waiting()  # after a failure, those that wait may make room now
        if len(self._events) < PENDING_BATCHES_MAX:
            self._events.append(event)
            self.process_waiting()
        else:
            future.set_exception(
                UnavailableError(
                    "the service begins, or carries out a transaction or a large request, and too "
                    "many requests wait for that; try again"
                )
            )

    def process_waiting(self) -> None:
        """Process the events that wait, in order, as long as that is possible."""
        while self._events and self._is_free():
            self._events.popleft()()

    async def processed(self) -> None:
        """Wait until the events that wait now are processed, but not for later ones."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._events.append(partial(_wake, turn))
        self.process_waiting()
        await turn


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # cancelled by the caller
        turn.set_result(None)
