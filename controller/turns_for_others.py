"""Turns of the event loop that long work leaves to others, such as heartbeats.

A request needs several turns from its connection to its answer: it is read, handed to its task,
answered and written. If long work took every other turn, the request would wait for four parts of
that work; so the work leaves that many turns between two of its own.
"""

import asyncio
from collections.abc import Callable

_TURNS = 4


async def leave_turns() -> None:
    """Let requests that have arrived get to their answers."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def call_after_others(callback: Callable[[], object]) -> None:
    """Call a function in a later turn, after requests that have arrived got to their answers."""
    _call_after(_TURNS, callback)


def _call_after(turns: int, callback: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    if turns:
        loop.call_soon(_call_after, turns - 1, callback)
    else:
        loop.call_soon(callback)
