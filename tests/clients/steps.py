"""The outcomes of a client's operations: yes, no, a text, or the name of the error."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable

WAIT_S = 4
"""How long a member of a group waits for a first record."""


def in_time(ask: Callable[[], str], expected: str) -> str:
    """Call `ask` until it returns the expected answer, at most 60 s; return the last answer.

    Brokers receive a change after the controller has answered; until then they may answer with
    errors.
    """
    deadline = time.monotonic() + 60
    while (found := _answer(ask)) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _answer(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except Exception as error:
        return type(error).__name__


class Steps:
    """The outcomes of operations by name, in the order in which they were run."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def take(self, name: str, action: Callable[[], bool | str]) -> None:
        """Run an operation, and record its outcome."""
        try:
            result = action()
        except Exception as error:
            result = type(error).__name__
        if isinstance(result, bool):
            result = "yes" if result else "no"
        self._found[name] = result

    def take_in_time(self, name: str, ask: Callable[[], bool]) -> None:
        """Call `ask` until it returns True, at most 60 s, and record the last answer."""
        self.take(name, lambda: in_time(lambda: "yes" if ask() else "no", "yes"))

    def take_for(self, name: str, action: Callable[[], object], seconds: float) -> None:
        """Run an operation, and record whether it ended in time: yes, or "waits"."""
        begin = time.monotonic()
        action()
        self._found[name] = "yes" if time.monotonic() - begin < seconds else "waits"

    async def take_async(
        self, name: str, action: Awaitable[bool | str | None], seconds: float = 60
    ) -> None:
        """Await an operation, and record its outcome: "waits" if it did not end in time."""
        try:
            async with asyncio.timeout(seconds) as limit:
                result = await action
        except Exception as error:
            outcome = "waits" if limit.expired() else type(error).__name__
            self.take(name, lambda: outcome)
        else:
            self.take(name, lambda: True if result is None else result)

    def end(self) -> None:
        """Print all outcomes as JSON, and exit at once: clients that retry would not end."""
        sys.stdout.write(json.dumps(self._found) + "\n")
        sys.stdout.flush()
        os._exit(0)
