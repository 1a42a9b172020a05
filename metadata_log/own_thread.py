"""A separate thread for the writer's blocking disk calls.

The event loop's default threads also serve readers; a few long reads would occupy all of them and
delay every sync.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

RunBlocking = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs a blocking call without blocking the event loop."""


def in_own_thread() -> RunBlocking:
    """Return a function that runs calls one after the other in a separate thread.

    The thread ends when the function is no longer referenced.
    """
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata log")

    async def run(call: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(executor, call)

    return run
