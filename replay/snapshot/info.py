"""What is known of a snapshot without loading it."""

from typing import Self

import msgspec

from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.snapshot.parts import FORMAT


class SnapshotInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table `snapshot`.

    `end_offset` is exclusive. `leader_epoch` and `timestamp_ms` are those of the last contained
    record, 0 when there is none. Times are in ms since 1970.
    """

    cluster_id: str
    end_offset: int
    leader_epoch: int
    timestamp_ms: int
    # True when the batch before `end_offset` goes on after it.
    mid_batch: bool
    # False when Kafka could still replace the tail that the image contains (mirrors only).
    confirmed: bool
    digest: str
    created_at_ms: int
    format: int

    @classmethod
    def of(
        cls, image: MetadataImage, *, cluster_id: str, confirmed: bool, created_at_ms: int
    ) -> Self:
        """Describe a snapshot of an image: O(objects), for the digest."""
        provenance = image.provenance
        return cls(
            cluster_id=cluster_id,
            end_offset=provenance.next_offset,
            leader_epoch=provenance.leader_epoch,
            timestamp_ms=provenance.timestamp,
            mid_batch=provenance.mid_batch,
            confirmed=confirmed,
            digest=image_digest(image),
            created_at_ms=created_at_ms,
            format=FORMAT,
        )

    @property
    def provenance(self) -> Provenance:
        """Where the image comes from.

        A transaction that was pending is not named: its records come after `end_offset` and are
        read again when replay goes on.
        """
        return Provenance(
            offset=self.end_offset - 1 if self.end_offset else None,
            leader_epoch=self.leader_epoch,
            timestamp=self.timestamp_ms,
            mid_batch=self.mid_batch,
        )

    @property
    def identity(self) -> str:
        """All of it that never changes, as one line of text."""
        return (
            f"{self.cluster_id} {self.end_offset} {self.leader_epoch} {self.timestamp_ms} "
            f"{self.mid_batch:d} {self.digest} {self.created_at_ms} {self.format}"
        )

    def same_image(self, other: Self) -> bool:
        """Whether two snapshots hold the same, as far as can be told from here."""
        return self == msgspec.structs.replace(
            other, confirmed=self.confirmed, created_at_ms=self.created_at_ms
        )
