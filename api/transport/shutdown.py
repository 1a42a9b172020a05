"""Ends processes and tasks: on a signal, or as soon as something they need is lost."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


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


async def cancel_all(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait until all have ended; their errors are dropped."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Return once one of the coroutines returns; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_all(*tasks)


async def unless_set(event: asyncio.Event, answer: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of a coroutine; if the event is set first, cancel it and return None.

    If both happen at the same time, the result is returned.
    """
    answering = asyncio.ensure_future(answer)
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait([answering, waiting], return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        await cancel_all(answering, waiting)
