"""Options and summary of a demo."""

from collections.abc import Callable

import msgspec

from records.errors import RequestError

REPLICATION_FACTOR = 3
"""Replicas of an ordinary topic, if there are as many brokers."""


_NUMBERS_MAX = {"topics": 100_000, "brokers": 1_000, "changes": 10_000_000}
"""Maximum of each option: more would fill the disk or take days, and is probably a typing error."""


class DemoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Size and seed of the history.

    `changes` is the approximate number of requests and events that write records, besides those
    that set up the cluster. Equal options give equal records, origins and times.
    """

    topics: int = 60
    brokers: int = 6
    changes: int = 2_000
    seed: int = 1

    def checked(self) -> "DemoOptions":
        """Check the options, and return them unchanged.

        Raises:
            RequestError: INVALID_REQUEST, a number is too small or too large.
        """
        for name, most in _NUMBERS_MAX.items():
            if not 1 <= getattr(self, name) <= most:
                raise RequestError("INVALID_REQUEST", f"--{name} must be 1 to {most:,}")
        return self

    @property
    def replication_factor(self) -> int:
        """Replicas of an ordinary topic."""
        return min(REPLICATION_FACTOR, self.brokers)


class DemoSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a demo.

    `changes` counts the requests and events of each kind that wrote records. Times are in ms since
    1970; `end_offset` is exclusive.
    """

    changes: dict[str, int]
    start_ms: int
    end_ms: int
    end_offset: int


Progress = Callable[[int, int], None]
"""Called with the number of changes made, and the total."""
