"""Runs the asynchronous part of a command: in asyncio's own event loop, or in uvloop's."""

import importlib.util
import logging
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from records.errors import RequestError

if TYPE_CHECKING:
    import asyncio

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

EVENT_LOOP = "METALOG_EVENT_LOOP"
"""The environment variable that chooses the event loop of `run_long`: one of `LOOPS`. By default it
is uvloop if that is installed."""

ASYNCIO, UVLOOP = LOOPS = ("asyncio", "uvloop")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, and return its result.

    Imports asyncio only here: the import takes a tenth of a short run, and help does not need it.
    """
    import asyncio

    return asyncio.run(work)


def run_long(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that serves, follows or sends much, in the chosen event loop.

    Raises:
        RequestError: INVALID_REQUEST, the loop that EVENT_LOOP names is unknown, not installed, or
            cannot be loaded.
    """
    import asyncio

    try:
        new_loop = loop_factory(os.environ.get(EVENT_LOOP))
    except BaseException:
        work.close()
        raise
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(work)


def loop_factory(name: str | None) -> "Callable[[], asyncio.AbstractEventLoop]":
    """Return what makes an event loop; without a name, of uvloop if that is installed and loads.

    Raises:
        RequestError: INVALID_REQUEST, the name is unknown, or the loop is not installed or cannot
            be loaded.
    """
    if name and name not in LOOPS:
        raise RequestError(
            "INVALID_REQUEST", f"{EVENT_LOOP} is {name!r}; set it to {' or '.join(LOOPS)}"
        )
    if name != ASYNCIO and importlib.util.find_spec(UVLOOP) is not None:
        try:
            import uvloop
        except ImportError as error:
            if name:
                raise RequestError(
                    "INVALID_REQUEST", f"{EVENT_LOOP} is {name}, which cannot be loaded: {error}"
                ) from error
            _LOG.warning("%s cannot be loaded, %s runs instead: %s", UVLOOP, ASYNCIO, error)
        else:
            return uvloop.new_event_loop
    elif name == UVLOOP:
        raise RequestError(
            "INVALID_REQUEST",
            f"{EVENT_LOOP} is {name}, which is not installed: pip install 'metadata-log[uvloop]'",
        )
    import asyncio

    return asyncio.new_event_loop
