"""Transactions of a log: which rows take effect, and when.

The rows of a transaction take effect when it ends; the rows of an aborted or open transaction have
no effect. Control records belong to the quorum, not to the transaction: they take effect when the
transaction is closed, even if it is aborted. Kafka applies them immediately, but an image has only
one position, which stays before Begin until the transaction is closed. Markers change no state;
markers with unknown tags are also returned, because they are counted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from metadata_log.format.batch import Batch
from records.base import Record
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.envelope import Envelope
from records.errors import ContradictionError, RecordPlace
from records.registry import is_control
from replay.image.provenance import has_unknown_tags

MARKERS: frozenset[type[Record]] = frozenset(
    {BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord}
)
"""Types of the records that begin and close transactions."""


class Resolved(msgspec.Struct, frozen=True, gc=False):
    """Rows with a known outcome: they took effect, or were aborted with their transaction.

    `closed_by` is the record that ended or aborted the transaction; None for rows outside a
    transaction.
    """

    rows: Sequence[Envelope]
    in_effect: bool = True
    closed_by: Envelope | None = None

    def rows_from(self, offset: int) -> Sequence[Envelope]:
        """Return the rows that take effect at or after an offset."""
        if self.closed_by is not None:
            return self.rows if self.closed_by.offset >= offset else ()
        if self.rows and self.rows[0].offset >= offset:
            return self.rows
        return [row for row in self.rows if row.offset >= offset]


class Transactions:
    """Follows a log row by row, starting at any offset outside a transaction.

    Attributes:
        begin_offset: Offset of the open transaction's Begin; None outside a transaction.
    """

    def __init__(self) -> None:
        self.begin_offset: int | None = None
        self._begun_by: RecordPlace | None = None
        self._held: list[Envelope] = []

    def effective(self, rows: Sequence[Envelope]) -> Iterable[Envelope]:
        """Return the rows that take effect when `rows` are read, in order of effect.

        Read the result to its end before the next call.

        Raises:
            ContradictionError: a misplaced marker; names the offset.
        """
        if self._is_plain(rows):
            return rows
        return (row for found in self.resolved(rows) if found.in_effect for row in found.rows)

    def resolved(self, rows: Sequence[Envelope]) -> Iterator[Resolved]:
        """Yield rows with their outcome, including those of aborted transactions.

        Raises:
            ContradictionError: a misplaced marker; names the offset.
        """
        if self._is_plain(rows):
            yield Resolved(rows)
            return
        for row in rows:
            match row.payload:
                case BeginTransactionRecord():
                    self._begin(row)
                case EndTransactionRecord():
                    yield Resolved(self._close(row), closed_by=row)
                case AbortTransactionRecord():
                    held = self._close(row)
                    kept = [each for each in held if _survives_abort(each)]
                    if kept:
                        yield Resolved(kept, closed_by=row)
                        held = [each for each in held if not _survives_abort(each)]
                    yield Resolved(held, in_effect=False, closed_by=row)
                case _ if self.begin_offset is None:
                    yield Resolved((row,))
                case _:
                    self._held.append(row)

    def _is_plain(self, rows: Sequence[Envelope]) -> bool:
        return self.begin_offset is None and MARKERS.isdisjoint([type(r.payload) for r in rows])

    def _begin(self, row: Envelope) -> None:
        if self.begin_offset is not None:
            raise ContradictionError(
                f"inside the transaction that began at {self.begin_offset}",
                record=RecordPlace.of(row),
                earlier=self._begun_by,
            )
        self.begin_offset, self._begun_by = row.offset, RecordPlace.of(row)
        self._hold_if_tagged(row)

    def _close(self, row: Envelope) -> list[Envelope]:
        if self.begin_offset is None:
            raise ContradictionError("outside a transaction", record=RecordPlace.of(row))
        self._hold_if_tagged(row)
        held, self._held, self.begin_offset = self._held, [], None
        return held

    def _hold_if_tagged(self, marker: Envelope) -> None:
        if has_unknown_tags(marker):
            self._held.append(marker)


def _survives_abort(row: Envelope) -> bool:
    return is_control(row.payload) or type(row.payload) in MARKERS


def effective_rows(
    batches: Iterable[Batch],
    from_offset: int,
    end_offset: int,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Envelope]:
    """Yield the rows in [from_offset, end_offset) that take effect, in order of effect.

    Args:
        from_offset: Must be outside a transaction.
        progress: Called with the end offset of each batch read.

    Raises:
        ContradictionError: a misplaced marker; names the offset.
    """
    transactions = Transactions()
    for batch in batches:
        yield from transactions.effective(rows_within(batch, from_offset, end_offset))
        if progress is not None:
            progress(batch.end_offset)


def rows_within(batch: Batch, from_offset: int, end_offset: int) -> Sequence[Envelope]:
    """Return the rows of a batch in [from_offset, end_offset)."""
    if from_offset <= batch.base_offset and batch.end_offset <= end_offset:
        return batch.rows
    return tuple(row for row in batch.rows if from_offset <= row.offset < end_offset)
