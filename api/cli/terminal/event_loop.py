"""Runs the asynchronous part of a command."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, and return its result.

    Imports asyncio only here: the import takes a tenth of a short run, and help does not need it.
    """
    import asyncio

    return asyncio.run(work)
