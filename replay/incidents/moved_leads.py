"""Leader changes in a batch, for partitions whose earlier state was not followed."""

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER

PartitionKey = tuple[Uuid, int]
"""The id of a partition's topic, and its number."""


class MovedLeads(msgspec.Struct, frozen=True):
    """Leader changes in a batch, for partitions whose earlier state was not followed.

    Attributes:
        at: The offset before the batch.
        leaders: Partitions, each with its new leader.
    """

    at: int
    leaders: list[tuple[PartitionKey, int]]

    @classmethod
    def of(cls, rows: Sequence[Envelope]) -> Self:
        """Return the leader changes in rows that take effect together."""
        leaders = [
            ((record.topic_id, record.partition_id), record.leader)
            for record in (row.payload for row in rows)
            if isinstance(record, PartitionChangeRecord) and record.leader >= NO_LEADER
        ]
        return cls(rows[0].offset - 1, leaders)

    @property
    def keys(self) -> list[PartitionKey]:
        """The partitions with leader changes."""
        return [key for key, _ in self.leaders]

    def leaders_in(self, image: MetadataImage) -> dict[PartitionKey, int]:
        """Return the leaders of these partitions in an image."""
        found = {key: image.partition(*key) for key in self.keys}
        return {key: each.leader for key, each in found.items() if each is not None}

    def had_lead(self, broker_id: int, before: Mapping[PartitionKey, int]) -> bool:
        """True if a broker led one of the partitions and lost its leadership.

        Args:
            before: The leaders before the batch.
        """
        return any(
            leader != broker_id and before.get(key) == broker_id for key, leader in self.leaders
        )
