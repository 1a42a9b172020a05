"""Failed logins by user and address: after several in a row, further attempts are slowed.

Attempts for users that do not exist are slowed, too. Attempts for the same user from another
address are not, so that an attacker cannot keep the user out.
"""

from collections.abc import Callable

SLOWED_AFTER = 5
SLOWED_S = 2.0
"""Delay of each answer to a login, even a correct one, after SLOWED_AFTER failures in a row: a
connection can then try one password every 2 s."""

FAILURES_KEPT_S = 60.0
FAILURES_MAX = 10_000
"""Maximum number of user and address pairs whose failures are kept, for FAILURES_KEPT_S."""


class FailedLogins:
    """Counts failures; forgets the oldest when there are too many."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start without failures; `clock` returns the time in seconds."""
        self._clock = clock
        # By user and address: failures in a row, and the time of the last one; oldest first.
        self._failures: dict[tuple[str, str], tuple[int, float]] = {}

    def __len__(self) -> int:
        """Return the number of users and addresses with failures."""
        return len(self._failures)

    def delay_s(self, user: str, address: str) -> float:
        """Return how long to delay the answer to an attempt."""
        return SLOWED_S if self._count((user, address)) >= SLOWED_AFTER else 0.0

    def failed(self, user: str, address: str) -> None:
        """Record a failed attempt."""
        key = (user, address)
        count = self._count(key) + 1
        self._failures.pop(key, None)
        while len(self._failures) >= FAILURES_MAX:
            del self._failures[next(iter(self._failures))]
        self._failures[key] = (count, self._clock())

    def succeeded(self, user: str, address: str) -> None:
        """Forget earlier failures, because a login succeeded."""
        self._failures.pop((user, address), None)

    def _count(self, key: tuple[str, str]) -> int:
        count, last_s = self._failures.get(key, (0, 0.0))
        return count if self._clock() - last_s <= FAILURES_KEPT_S else 0
