"""JSON form of the results of snapshots, copies, checks and repairs of a log."""

from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from api.documents.errors import Contradiction
from metadata_log.care.backup import CopyResult
from metadata_log.care.failing_disk import Unreadable
from metadata_log.care.findings import Finding, Inspection, Lost
from metadata_log.care.repair import RepairResult
from metadata_log.care.restore import RestoreResult
from replay.care.proof import Proof
from replay.care.retain import RetainResult
from replay.image.fields import copied
from replay.snapshot.info import SnapshotInfo


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot in SQL. `end_offset` is exclusive, times are in ms since 1970.

    `mid_batch` is set if the last batch continues after the snapshot's end: `outages` does not
    start from such a snapshot.
    """

    end_offset: int
    leader_epoch: int
    timestamp: int
    confirmed: bool
    digest: str
    rotated: bool
    created_at: int
    mid_batch: bool | UnsetType = UNSET

    @classmethod
    def of(cls, info: SnapshotInfo) -> Self:
        """Return the JSON form of a snapshot."""
        return copied(
            info,
            cls,
            timestamp=info.timestamp_ms,
            created_at=info.created_at_ms,
            mid_batch=True if info.mid_batch else UNSET,
        )


class Snapshots(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshots of a log, oldest first."""

    snapshots: tuple[Snapshot, ...]


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """The number of snapshots that were deleted, and the number of those left."""

    deleted: int
    left: int


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Result of checking a log.

    `digest` is None if the log could not be replayed: it is damaged, or a record contradicts the
    state before it, which does not count as damage.
    """

    segments: int
    batches: int
    records: int
    bytes: int
    digest: str | None
    damage: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    contradiction: Contradiction | UnsetType = UNSET

    @classmethod
    def of(cls, found: Inspection, proof: Proof | None) -> Self:
        """Return the JSON form of an inspection's result and of the proof by replay after it."""
        return cls(
            segments=found.segments,
            batches=found.blocks,
            records=found.records,
            bytes=found.size_bytes,
            digest=proof.digest if proof else None,
            damage=tuple(found.damage),
            notes=tuple(found.notes),
            contradiction=_contradiction(proof),
        )


def _contradiction(proof: Proof | None) -> Contradiction | UnsetType:
    error = None if proof is None else proof.contradiction
    return UNSET if error is None else Contradiction.of(error)


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a backup or archive: the files that it copied, and the offsets the copy now has.

    `end_offset` is exclusive.
    """

    start_offset: int
    end_offset: int
    previous_end_offset: int | None
    files: tuple[str, ...]
    bytes: int

    @classmethod
    def of(cls, result: CopyResult) -> Self:
        """Return the JSON form of a copy's result."""
        return copied(result, cls, bytes=result.size_bytes)


class CutBatch(msgspec.Struct, frozen=True):
    """The original bounds of a batch that was cut; `end` is exclusive."""

    base_offset: int
    end: int


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """A log that was restored and verified by replay.

    `digest` is None if a record contradicts the state before it; then only the images before that
    record were compared. `mid_batch` and `cut_batch` are set if the last batch was cut,
    `pending_transaction` if the restored log ends inside a transaction.
    """

    digest: str | None
    segments: int
    bytes: int
    writer_epoch: int | None
    mid_batch: bool | UnsetType = UNSET
    cut_batch: CutBatch | UnsetType = UNSET
    pending_transaction: int | UnsetType = UNSET
    contradiction: Contradiction | UnsetType = UNSET

    @classmethod
    def of(cls, result: RestoreResult, proof: Proof) -> Self:
        """Return the JSON form of a restored log."""
        cut, pending = result.cut_batch, proof.pending_transaction
        return cls(
            digest=proof.digest,
            segments=result.segments,
            bytes=result.size_bytes,
            writer_epoch=result.writer_epoch,
            mid_batch=UNSET if cut is None else True,
            cut_batch=UNSET if cut is None else CutBatch(*cut),
            pending_transaction=UNSET if pending is None else pending,
            contradiction=_contradiction(proof),
        )


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the provably intact part of a log; `complete` if no acknowledged record is missing.

    `digest` is None if a record contradicts the state before it.
    """

    digest: str | None
    complete: bool
    lost_offsets: int
    rebuilt: tuple[str, ...]
    lost: tuple[Lost, ...]
    unreadable: tuple[Unreadable, ...]

    @classmethod
    def of(cls, result: RepairResult, proof: Proof) -> Self:
        """Return the JSON form of a repair's result."""
        return cls(
            digest=proof.digest,
            complete=result.is_complete,
            lost_offsets=result.lost_offsets,
            rebuilt=result.rebuilt,
            lost=result.lost,
            unreadable=result.unreadable,
        )


class Retained(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a retention run: the history that it dropped.

    `digest` is None if there was nothing to drop.
    """

    previous_history_start: int
    dropped_segments: int
    dropped_bytes: int
    digest: str | None

    @classmethod
    def of(cls, result: RetainResult) -> Self:
        """Return the JSON form of a retention run's result."""
        return copied(result, cls)
