"""The port through which history finds an object's records, and the default place of its index."""

from collections.abc import Collection
from typing import Protocol

import msgspec

from records.base import Uuid
from replay.time_travel.objects import ObjectName

HISTORY_NAME = "history.db"
"""The default database of the SQL history, in the log directory."""


class FoundChanges(msgspec.Struct, frozen=True):
    """Offsets, ascending, of the records that changed an object and the objects it depends on.

    `end_offset` is exclusive: what follows must be read in the log.
    """

    offsets: list[int]
    end_offset: int

    def with_others(self, other: "FoundChanges") -> "FoundChanges":
        """Return the records of both, up to where both are known."""
        end_offset = min(self.end_offset, other.end_offset)
        both = {*self.offsets, *other.offsets}
        return FoundChanges(sorted(each for each in both if each < end_offset), end_offset)


class ChangeIndex(Protocol):
    """Knows which records of a log took effect on which object, up to some offset."""

    def end_offset(self) -> int | None:
        """Return up to where it knows the log, exclusive; None if it does not help."""

    def changes_of(
        self, name: ObjectName, ids: Collection[Uuid], end_offset: int
    ) -> FoundChanges | None:
        """Return the records below an offset that took effect below it, on an object.

        A few more may be among them. None: reading the log is as fast, or the only way.

        Args:
            name: `broker:*` stands for all brokers.
            ids: Topics and namespaces that the name is known to mean, besides those the index has.
        """
