"""A thread of the writer's own for blocking disk calls.

The event loop's default threads also serve readers; a few long reads would take all of them and
delay every sync.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

RunBlocking = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs a blocking call without blocking the event loop."""


def in_own_thread() -> RunBlocking:
    """Return a runner of calls, one after the other, in a thread that ends with its last user."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata log")

    async def run(call: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(executor, call)

    return run
