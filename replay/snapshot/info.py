"""Description of a snapshot."""

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from metadata_log.reader.position import Position
from records.errors import CorruptLogError
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood, Provenance
from replay.image.rules import RULES_VERSION
from replay.snapshot.revision import FORMAT


class SnapshotInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a snapshot: a row of the table `snapshot`.

    `end_offset` is exclusive. `leader_epoch` and `timestamp_ms` belong to the last contained
    record; 0 if there is none. Times are in ms since 1970.
    """

    cluster_id: str
    end_offset: int
    leader_epoch: int
    timestamp_ms: int
    # True if the batch before `end_offset` continues after it.
    mid_batch: bool
    # False if Kafka could still replace the tail in the image (mirrors only).
    confirmed: bool
    digest: str
    created_at_ms: int
    format: int
    # CRC of the last contained block or batch (see `Position`), None when it is not known.
    last_crc32c: int | None = None
    # Version of the replay rules. None in snapshots of early releases, which also lack the records
    # not understood and the versions of objects.
    rules: int | None = None
    not_understood: int | None = None
    not_understood_from: int | None = None
    # True for one of a series of which only the newest are kept.
    rotated: bool = False

    @classmethod
    def of(
        cls,
        image: MetadataImage,
        digest: str,
        *,
        cluster_id: str,
        confirmed: bool,
        created_at_ms: int,
        last_crc32c: int | None = None,
        rotated: bool = False,
    ) -> Self:
        """Return the description of a snapshot, given its image and the image's digest."""
        provenance = image.provenance
        not_understood = provenance.not_understood or NotUnderstood(0, None)
        return cls(
            cluster_id=cluster_id,
            end_offset=provenance.next_offset,
            leader_epoch=provenance.leader_epoch,
            timestamp_ms=provenance.timestamp,
            mid_batch=provenance.mid_batch,
            confirmed=confirmed,
            digest=digest,
            created_at_ms=created_at_ms,
            format=FORMAT,
            last_crc32c=last_crc32c,
            rules=RULES_VERSION,
            not_understood=not_understood.records,
            not_understood_from=not_understood.first_offset,
            rotated=rotated,
        )

    @property
    def position(self) -> Position:
        """The snapshot's position in its log, for comparison with the log."""
        return Position(
            cluster_id=self.cluster_id,
            end_offset=self.end_offset,
            leader_epoch=self.leader_epoch,
            last_crc32c=self.last_crc32c,
        )

    @property
    def provenance(self) -> Provenance:
        """Provenance of the image.

        A pending transaction is left out: its records are after `end_offset`, so replay reads them
        again.
        """
        records = self.not_understood
        return Provenance(
            offset=self.end_offset - 1 if self.end_offset else None,
            leader_epoch=self.leader_epoch,
            timestamp=self.timestamp_ms,
            mid_batch=self.mid_batch,
            not_understood=NotUnderstood(records, self.not_understood_from) if records else None,
        )

    @property
    def identity(self) -> str:
        """All immutable fields as one line of text."""
        identity = (
            f"{self.cluster_id} {self.end_offset} {self.leader_epoch} {self.timestamp_ms} "
            f"{self.mid_batch:d} {self.digest} {self.created_at_ms} {self.format}"
        )
        if self.rules is None:
            return identity
        return (
            f"{identity} {self.last_crc32c} {self.rules} {self.not_understood} "
            f"{self.not_understood_from}"
        )

    def same_image(self, other: Self) -> bool:
        """True if two snapshots have the same content, as far as their descriptions show."""
        return self == msgspec.structs.replace(
            other,
            confirmed=self.confirmed,
            created_at_ms=self.created_at_ms,
            format=self.format,
            rotated=self.rotated,
        )


def decode_info(row: Mapping[str, Any], row_id: int) -> SnapshotInfo:
    """Return the description in a row of the table `snapshot`.

    Raises:
        CorruptLogError: a column has a value of another type.
    """
    columns = {name: row[name] for name in SnapshotInfo.__struct_fields__}
    try:
        # SQLite keeps booleans as 0 and 1.
        return msgspec.convert(columns, SnapshotInfo, strict=False)
    except msgspec.ValidationError as error:
        raise CorruptLogError(
            f"snapshot of id {row_id}: damaged, {error}; snapshots are made from the log: remove "
            "the database and make them anew with `metalog snapshot create`"
        ) from error
