"""Work in several turns of the event loop: a generator that yields where other work may run.

answer = whole(work)            in one turn
answer = yield from work        in as many turns as it takes
"""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Turns = Generator[None, None, T]
"""Yields nothing, and returns the result of the work."""


def whole(turns: Turns[T]) -> T:
    """Do all of the work at once, and return its result."""
    while True:
        try:
            next(turns)
        except StopIteration as end:
            result: T = end.value
            return result
