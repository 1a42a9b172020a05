"""Confirmations of the shared log's end; one confirmation serves all questions that wait."""

import asyncio
from collections.abc import Awaitable, Callable

from metadata_log.shared.shared_log import Position
from records.errors import Outcome, UnavailableError


class Confirmations:
    """Asks the store where the shared log ends; callers that wait together share one request."""

    def __init__(self, confirmed_end: Callable[[], Awaitable[Position]]) -> None:
        """Prepare to ask; `confirmed_end` asks the store for the shared log's end."""
        self._confirmed_end = confirmed_end
        self._running: asyncio.Task[Position] | None = None
        self._next: asyncio.Task[Position] | None = None

    async def end(self) -> Position:
        """Return the log's end, confirmed by a store operation that began after this call.

        Raises:
            UnavailableError: the store did not confirm in time.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._running), name="confirmation")
        try:
            return await asyncio.shield(self._next)
        except UnavailableError as error:
            raise error.with_outcome(
                Outcome.NOTHING, f"the answer cannot be confirmed: {error}"
            ) from error

    async def _after(self, running: "asyncio.Task[Position] | None") -> Position:
        if running is not None:
            await asyncio.wait([running])
        # Who asks from now on cannot join: the operation begins now.
        self._running, self._next = self._next, None
        return await self._confirmed_end()
