"""Pauses between the retries of an observer, so that they do not burden the quorum."""

import random
from collections.abc import Callable

_FIRST_S, _LONGEST_S = 0.1, 5.0


class BackOff:
    """Waits of 100 ms to 5 s that double, each cut at random by up to a half."""

    def __init__(self, part: Callable[[float, float], float] = random.uniform) -> None:
        """Begin with the shortest wait; `part` draws a number between two bounds."""
        self._part = part
        self._failures = 0

    def next_s(self) -> float:
        """Return the next wait in seconds."""
        longest = min(_FIRST_S * 2.0**self._failures, _LONGEST_S)
        self._failures = min(self._failures + 1, 10)
        return longest * self._part(0.5, 1.0)

    def reset(self) -> None:
        """Begin anew, after an answer."""
        self._failures = 0
