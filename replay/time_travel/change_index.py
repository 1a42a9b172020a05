"""Interface of an index of an object's records, and the default file name of the index."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

import msgspec

from records.base import Record, Uuid
from records.envelope import Envelope
from replay.image.partitions import Partition

if TYPE_CHECKING:
    from replay.time_travel.objects import ObjectName

HISTORY_NAME = "history.db"
"""The default database of the SQL history, in the log directory."""


class FoundChanges(msgspec.Struct, frozen=True):
    """Ascending offsets of the records that changed an object and the objects it depends on.

    `end_offset` is exclusive: later records must be read from the log.
    """

    offsets: list[int]
    end_offset: int

    def with_others(self, other: "FoundChanges") -> "FoundChanges":
        """Return the offsets of `self` and `other` that are below both end offsets."""
        end_offset = min(self.end_offset, other.end_offset)
        both = {*self.offsets, *other.offsets}
        return FoundChanges(sorted(each for each in both if each < end_offset), end_offset)


class PartitionState(Record, frozen=True, kw_only=True):
    """Stands, in a row of an index, for the record that gave a partition a state.

    Attributes:
        before: The partition before it; None if it did not exist.
    """

    before: Partition | None
    after: Partition


class ChangeIndex(Protocol):
    """An index of the records that took effect on each object, up to some offset of a log."""

    def end_offset(self) -> int | None:
        """Return the end offset (exclusive) of the indexed records.

        Returns None if the index is unusable.
        """

    def changes_of(
        self, name: "ObjectName", ids: Collection[Uuid], end_offset: int
    ) -> FoundChanges | None:
        """Return the offsets of the records about an object that took effect below `end_offset`.

        The result may contain a few further offsets. It is None if the index cannot answer, or if
        reading the log is as fast.

        Args:
            name: Name of the object; `broker:*` means all brokers.
            ids: Ids of topics and namespaces that the name is known to mean, besides the ids that
                the index has for the name.
        """

    def outage_beginnings(
        self, at: int, down: Collection[tuple[Uuid, int]], assumed_min_isr: int | None
    ) -> list[Envelope] | None:
        """Return the states that led to the outages that were in progress just before offset `at`.

        Returns None if the index cannot answer.

        Args:
            down: Topic ids and numbers of the partitions in an outage.
            assumed_min_isr: Value for topics whose min.insync.replicas is not in the log.

        Returns:
            By ascending offset, rows that set the state of a topic, of a partition (as
            `PartitionState`), or min.insync.replicas.
        """
