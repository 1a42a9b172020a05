"""Order of the requests of one connection.

Source: Kafka's SocketServer, which reads no further request of a connection until it has sent the
answer to the last one.
"""

import asyncio
import enum
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Turn(enum.Enum):
    """When a request begins: in any case after earlier requests that change something."""

    ALONE = "alone"
    """Later requests begin once this request is answered, as in Kafka."""
    TOGETHER = "together"
    """This request may overlap with others of this kind: their handlers keep the order."""
    ASIDE = "aside"
    """Later requests do not wait for this one, which only reads, and may take long."""


class RequestOrder:
    """Runs the requests of one connection, each at its turn."""

    def __init__(self) -> None:
        """Start without requests."""
        # The newest requests that run together, and those that they wait for.
        self._newest: set[asyncio.Task[Any]] = set()
        self._before: tuple[asyncio.Task[Any], ...] = ()
        self._newest_overlap = False

    def begin(self, work: Coroutine[None, None, T], turn: Turn) -> asyncio.Task[T | None]:
        """Return a task that does the work once it is the request's turn.

        The task's result is None if an earlier request failed, which ends the connection.
        """
        if turn is Turn.ASIDE:
            return asyncio.create_task(_in_turn((*self._before, *self._newest), work))
        overlaps = turn is Turn.TOGETHER
        if not (overlaps and self._newest_overlap):
            # Those before the newest ones need no wait: the newest ones have waited for them.
            self._before, self._newest = tuple(self._newest), set()
        self._newest_overlap = overlaps
        task = asyncio.create_task(_in_turn(self._before, work))
        self._newest.add(task)
        task.add_done_callback(self._newest.discard)
        return task


async def _in_turn(
    before: tuple[asyncio.Task[Any], ...], work: Coroutine[None, None, T]
) -> T | None:
    try:
        if before:
            await asyncio.wait(before)
        if any(task.cancelled() or task.exception() for task in before):
            return None
        return await work
    finally:
        work.close()  # if its turn never came
