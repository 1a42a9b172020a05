"""What became of a client's operations: yes, no, a text, or the name of the error."""

import json
import os
import sys
import time
from collections.abc import Callable

WAIT_S = 4
"""How long a member of a group waits for a first record."""


def in_time(ask: Callable[[], str], expected: str) -> str:
    """Ask until the answer is the expected one, at most 60 s; return the last answer.

    Brokers learn of a change after the controller has answered; until then they may answer with
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
    """Operations by name, in the order in which they were done."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def take(self, name: str, action: Callable[[], bool | str]) -> None:
        """Do an operation, and note what became of it."""
        try:
            result = action()
        except Exception as error:
            result = type(error).__name__
        if isinstance(result, bool):
            result = "yes" if result else "no"
        self._found[name] = result

    def take_in_time(self, name: str, ask: Callable[[], bool]) -> None:
        """Ask until the answer is yes, at most 60 s, and note the last answer."""
        self.take(name, lambda: in_time(lambda: "yes" if ask() else "no", "yes"))

    def end(self) -> None:
        """Print all of them as JSON, and leave at once: clients in retries would not."""
        sys.stdout.write(json.dumps(self._found) + "\n")
        sys.stdout.flush()
        os._exit(0)
