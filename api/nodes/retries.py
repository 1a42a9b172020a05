"""Retries of a node whose store or disk fails: a pause, and a warning that is not repeated."""

import asyncio
import logging
import math

from api.transport.shutdown import unless_set

_LOG = logging.getLogger(__name__)

_PAUSE_S = 0.5

_SAY_AGAIN_S = 60.0
"""Time after which the same warning is logged again, while the failure lasts."""


class Retries:
    """The retries of one node."""

    def __init__(self) -> None:
        self._said = ""
        self._said_s = -math.inf

    async def pause(self, stop: asyncio.Event, text: str) -> None:
        """Log why a node tries again, unless that was said a short time ago; then wait.

        Args:
            stop: Ends the pause.
        """
        now_s = asyncio.get_running_loop().time()
        if text != self._said or now_s - self._said_s >= _SAY_AGAIN_S:
            self._said, self._said_s = text, now_s
            _LOG.warning("%s", text)
        await unless_set(stop, asyncio.sleep(_PAUSE_S))
