"""Where in the log an image comes from."""

import msgspec


class Provenance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The last offset whose effect an image contains, and what stood there.

    Every image can be continued from `next_offset`: an open transaction is not contained, so its
    records are read again.
    """

    # Last contained offset, inclusive; None for the empty image.
    offset: int | None = None
    # Leader epoch and append time (ms since 1970) at `offset`; 0 for the empty image.
    leader_epoch: int = 0
    timestamp: int = 0
    # True when the batch at `offset` goes on after it.
    mid_batch: bool = False
    # Offset of the BeginTransactionRecord, while the point asked for lies in an open transaction.
    # Invariant: pending_transaction is None or pending_transaction == next_offset.
    pending_transaction: int | None = None

    @property
    def next_offset(self) -> int:
        """The first offset that is not contained."""
        return 0 if self.offset is None else self.offset + 1
