"""Shutdown of a long-running process: by a signal, or when it loses something it needs."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from typing import Any


@contextlib.contextmanager
def stopped_by_signal() -> Iterator[asyncio.Event]:
    """Yield an event that SIGTERM and SIGINT set, instead of their default action."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Return once one of the coroutines returns; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
