"""Awaiting a decision whose caller may go away."""

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def shielded(future: asyncio.Future[T]) -> T:
    """Await a future that continues even if the caller is cancelled; its error is then dropped.

    `asyncio.shield` alone leaves such an error to asyncio, which logs it with a traceback.
    """
    future.add_done_callback(_retrieve)
    return await asyncio.shield(future)


def _retrieve(future: asyncio.Future[T]) -> None:
    if not future.cancelled():
        future.exception()
