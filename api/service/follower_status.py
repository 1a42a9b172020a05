"""Status of a process that follows another one's log."""

import msgspec


class FollowerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a node that follows the log and stands by.

    Attributes:
        node: The node's number.
        lag_ms: Time since the node last had all committed records.
    """

    node: int
    lag_ms: int
