"""Status of a process that follows another one's log."""

import msgspec


class FollowerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node that stands by.

    Attributes:
        node: Its number.
        lag_ms: Time for which it does not know whether there are newer records.
    """

    node: int
    lag_ms: int
