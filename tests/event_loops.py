"""The event loop of each test: asyncio's own, or uvloop's.

Every second file of the folders in _SAMPLED, chosen by its name, runs on uvloop with the commands
that it starts; all other tests run on asyncio. METALOG_EVENT_LOOP, set for the whole run, is the
loop of all tests: `make heavy` runs all tests of the network on uvloop.
"""

import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from api.cli.terminal.event_loop import ASYNCIO, EVENT_LOOP, UVLOOP, loop_factory

_SAMPLED = (
    "tests/api/broker/",
    "tests/api/http/",
    "tests/api/security/",
    "tests/api/socket/",
    "tests/contracts/",
)

_FOR_ALL = os.environ.get(EVENT_LOOP)


def loop_of(group: str) -> str:
    """Return the name of the event loop of a group of tests."""
    is_chosen = group.startswith(_SAMPLED) and zlib.crc32(group.encode()) % 2 == 1
    return _FOR_ALL or (UVLOOP if is_chosen else ASYNCIO)


def factories(group: str) -> Mapping[str, Callable[[], Any]]:
    """Return what makes the event loops of a group's tests, by name."""
    name = loop_of(group)
    return {name: loop_factory(name)}
