"""The error of a store that refuses what it is asked."""

from records.errors import UnavailableError


class StoreRefusesError(UnavailableError):
    """The store refuses a user or a statement; nothing happened.

    A running node tries again: somebody may be restoring a table, or changing rights. An operator's
    command, and a node that starts, end with this error.
    """
