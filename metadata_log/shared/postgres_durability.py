"""How durable the commits of a PostgreSQL server are, by its settings."""

import msgspec


class Durability(msgspec.Struct, frozen=True):
    """How durable the server's commits are.

    Attributes:
        fsync: Whether commits reach the server's disk.
        full_page_writes: True if a crash cannot leave a page half written.
        standby_names: `synchronous_standby_names`: the standbys that confirm each commit; empty if
            there is one server only.
    """

    fsync: str
    full_page_writes: str
    standby_names: str

    def missing(self, agreed: "Durability | None" = None) -> str | None:
        """Return why these settings could lose acknowledged records; None if they could not.

        Args:
            agreed: The server's settings when the shared log was opened.
        """
        if self.fsync != "on":
            return "fsync is off: a power loss takes acknowledged records"
        if self.full_page_writes != "on":
            return "full_page_writes is off: a power loss damages acknowledged records"
        if agreed is not None and agreed.standby_names and not self.standby_names:
            return (
                "synchronous_standby_names is empty now: no standby has what is acknowledged "
                "(with Patroni: set synchronous_mode_strict)"
            )
        return None
