"""A thread that waits for the disk, for one writer alone.

The event loop's common threads serve whoever reads the log, too; a few long reads would take them
all, and hold up every sync.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

RunBlocking = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs what waits for the disk without holding up the event loop."""


def in_own_thread() -> RunBlocking:
    """Return what runs one call after the other in a thread, which ends with its last user."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata log")

    async def run(call: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(executor, call)

    return run
