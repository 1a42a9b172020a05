"""Provenance: the position in the log that an image belongs to."""

import msgspec

from records.control import UnknownRecord
from records.envelope import Envelope


class NotUnderstood(msgspec.Struct, frozen=True, gc=False):
    """How many records that took effect were not fully understood, and the first of them.

    `first_offset` is None if the first is before the kept history.
    """

    records: int
    first_offset: int | None

    @staticmethod
    def added(before: "NotUnderstood | None", offset: int | None) -> "NotUnderstood":
        """Return the count with one more record, at `offset` (None: unknown)."""
        if before is None:
            return NotUnderstood(1, offset)
        return NotUnderstood(before.records + 1, before.first_offset)


def has_unknown_tags(row: Envelope) -> bool:
    """True if a known record has tags that this release does not know."""
    is_known = not isinstance(row.payload, UnknownRecord)
    return is_known and row.extra is not None and bool(row.extra.unknown_tags)


class Provenance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The last offset whose effect an image contains, with its epoch and time.

    Every image can be continued from `next_offset`: an open transaction is not contained, so its
    records are read again.
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
        """The first offset that is not contained."""
        return 0 if self.offset is None else self.offset + 1
