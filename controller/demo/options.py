"""What a demo is asked for, and what it made."""

from collections.abc import Callable

import msgspec

from records.errors import RequestError

REPLICATION_FACTOR = 3
"""Replicas of an ordinary topic, if there are as many brokers."""


_NUMBERS_MAX = {"topics": 100_000, "brokers": 1_000, "changes": 10_000_000}
"""More would fill the disk or take days; who asks for it has mistyped."""


class DemoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How large a history to make.

    `changes` is about how many requests and events leave records, beyond those that set the
    cluster up. Equal options give equal records, origins and times.
    """

    topics: int = 60
    brokers: int = 6
    changes: int = 2_000
    seed: int = 1

    def checked(self) -> "DemoOptions":
        """Return the options.

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
    """What a demo made.

    `changes` counts the requests and events of each kind that left records. Times are in ms since
    1970; `end_offset` is exclusive.
    """

    changes: dict[str, int]
    start_ms: int
    end_ms: int
    end_offset: int


Progress = Callable[[int, int], None]
"""Called with how many changes are made, and how many there will be."""
