"""Large requests: other requests have their turn of the event loop while one of them is answered.

Work on bytes and on an image, neither of which changes, is done in a thread. Work on what changes,
such as the replicas of a broker, is done in turns.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from api.kafka.fields import Response
from api.kafka.frames import RequestFrame, encode_body

T = TypeVar("T")

LARGE_BYTES = 8 * 1024
"""Requests above it are large: they may have 500 items, which take 5 ms where each is refused."""

ITEMS_A_TURN = 500
"""Items between two turns of others, in some 5 ms."""

# One thread: Python runs one at a time, and with more of them the event loop would wait for each.
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="large requests")


async def beside(size_bytes: int, work: Callable[[], T]) -> T:
    """Return what `work` returns; it is done in a thread if the request's size is large."""
    if size_bytes <= LARGE_BYTES:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)


async def answered_beside(frame: RequestFrame, respond: Callable[[], Response]) -> Response | bytes:
    """Return the response to a request; to a large one as an encoded body, made in the thread."""
    if len(frame.raw) <= LARGE_BYTES:
        return respond()
    return await beside(len(frame.raw), lambda: encode_body(frame.api, frame.version, respond()))


class Turns:
    """Gives others their turn after every ITEMS_A_TURN items."""

    def __init__(self) -> None:
        self._items = 0

    async def item(self) -> None:
        """Count an item."""
        self._items += 1
        if self._items % ITEMS_A_TURN == 0:
            await asyncio.sleep(0)
