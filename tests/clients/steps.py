"""What became of a client's operations: yes, no, a text, or the name of the error."""

import json
import os
import sys
from collections.abc import Callable

WAIT_S = 4
"""How long a member of a group waits for a first record."""


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

    def end(self) -> None:
        """Print all of them as JSON, and leave at once: clients in retries would not."""
        sys.stdout.write(json.dumps(self._found) + "\n")
        sys.stdout.flush()
        os._exit(0)
