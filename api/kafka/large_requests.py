"""Large requests: the event loop serves other requests while a large one is answered.

Work on immutable data (bytes, images) is done in a thread. Work on data that changes, such as the
replicas of a broker, is done in several turns of the event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from api.kafka.fields import Response
from api.kafka.frames import RequestFrame, encode_body
from controller.turns_for_others import leave_turns

T = TypeVar("T")

LARGE_BYTES = 8 * 1024
"""Size above which a request is large: 500 items fit, and refusing each of them takes 5 ms."""

ITEMS_A_TURN = 500
"""Items handled in one turn of the event loop, which takes some 5 ms."""

# One thread: Python runs one at a time, and with more of them the event loop would wait for each.
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="large requests")


async def beside(size_bytes: int, work: Callable[[], T]) -> T:
    """Call `work` and return its result; in a thread if the request is large."""
    return work() if size_bytes <= LARGE_BYTES else await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """Call `work` in the thread of large requests, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


async def answered_beside(frame: RequestFrame, respond: Callable[[], Response]) -> Response | bytes:
    """Return the response to a request; if the request is large, as a body encoded in a thread."""
    if len(frame.raw) <= LARGE_BYTES:
        return respond()
    return await beside(len(frame.raw), lambda: encode_body(frame.api, frame.version, respond()))


class Turns:
    """Lets the event loop serve other requests after every ITEMS_A_TURN items."""

    def __init__(self) -> None:
        self._items = 0

    async def item(self) -> None:
        """Count an item; let other requests have their turn if it is time."""
        self._items += 1
        if self._items % ITEMS_A_TURN == 0:
            await leave_turns()
