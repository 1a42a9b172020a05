"""Work on large immutable data (bytes, images): done in a thread, beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

LARGE_BYTES = 8 * 1024
"""Size above which a request is large: 500 items fit, and refusing each of them takes 5 ms."""

# One thread: Python runs one at a time, and with more of them the event loop would wait for each.
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="large work")


async def beside(size_bytes: int, work: Callable[[], T]) -> T:
    """Call `work` and return its result; in a thread if what it works on is large."""
    return work() if size_bytes <= LARGE_BYTES else await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """Call `work` in the thread of large work, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)
