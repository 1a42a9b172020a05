"""Provenance: the position in the log that an image belongs to."""

import msgspec

from records.control import UnknownRecord
from records.envelope import Envelope


class NotUnderstood(msgspec.Struct, frozen=True, gc=False):
    """Number of applied records that were not fully understood, and offset of the first one.

    `first_offset` is None if the first such record is older than the kept history.
    """

    records: int
    first_offset: int | None

    @staticmethod
    def added(before: "NotUnderstood | None", offset: int | None) -> "NotUnderstood":
        """Return `before` with one more record counted.

        Args:
            offset: Offset of that record; None if it is unknown.
        """
        if before is None:
            return NotUnderstood(1, offset)
        return NotUnderstood(before.records + 1, before.first_offset)


def has_unknown_tags(row: Envelope) -> bool:
    """True if a record of a known type has tagged fields that this release does not know."""
    is_known = not isinstance(row.payload, UnknownRecord)
    return is_known and row.extra is not None and bool(row.extra.unknown_tags)


class Provenance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The last offset contained in an image, with its leader epoch and timestamp.

    Replay can continue from `next_offset`. The image does not contain the records of an open
    transaction, so replay reads them again.
    """

    # Last contained offset, inclusive; None for the empty image.
    offset: int | None = None
    # Leader epoch and append time (ms since 1970) at `offset`; 0 for the empty image.
    leader_epoch: int = 0
    timestamp: int = 0
    # True if the batch at `offset` continues after it.
    mid_batch: bool = False
    # Offset of the BeginTransactionRecord, if the point is inside an open transaction.
    # Invariant: pending_transaction is None or pending_transaction == next_offset.
    pending_transaction: int | None = None
    # Contained records that this release does not fully understand; None: none.
    not_understood: NotUnderstood | None = None

    @property
    def next_offset(self) -> int:
        """The first offset that the image does not contain."""
        return 0 if self.offset is None else self.offset + 1
