"""Limits how many questions wait for records at once: all together, and of one caller."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from controller.authorization.caller import Caller
from records.errors import UnavailableError


class Waiters:
    """Counts questions that wait."""

    def __init__(self, what: str) -> None:
        """Start with no waiting question; `what` names them in errors."""
        self._what = what
        self._by_caller: Counter[tuple[str, str | None]] = Counter()

    @contextmanager
    def counted(self, caller: Caller, all_max: int, caller_max: int) -> Iterator[None]:
        """Count one more waiting question for the `with` block.

        Raises:
            UnavailableError: too many are waiting, of this caller or together.
        """
        key = (caller.principal, caller.host)
        if self._by_caller.total() >= all_max:
            raise UnavailableError(f"{all_max} {self._what}; try again later")
        if self._by_caller[key] >= caller_max:
            raise UnavailableError(f"{caller_max} {self._what} for {caller.principal}; try later")
        self._by_caller[key] += 1
        try:
            yield
        finally:
            self._by_caller[key] -= 1
            if not self._by_caller[key]:
                del self._by_caller[key]
