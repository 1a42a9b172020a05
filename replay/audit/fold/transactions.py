"""Folds the records of partitions that take effect, given transactions that may be aborted.

A task folds a range of the log that may begin or end inside a transaction. Only the last task,
which gets the folds of all ranges and all markers, knows the outcome of such a transaction. Until
then, a range has up to three separate folds: of the rows before its first marker, of the rows known
to take effect, and of the rows of a transaction that is still open.
"""

from collections.abc import Iterator

import pyarrow

from replay.audit.fold.objects import BEGIN, END
from replay.audit.fold.partitions import Fold


class TransactionFold:
    """The folds of a range of the log, whose rows and markers are added in order.

    Args:
        from_start: True if the range begins outside a transaction.
    """

    def __init__(self, *, from_start: bool) -> None:
        self._head = Fold()
        self._settled = self._head if from_start else Fold()
        self._open: Fold | None = None
        self._current = self._head

    def add(self, rows: pyarrow.RecordBatch) -> None:
        """Add rows of partitions (`partitions.SCHEMA`)."""
        self._current.add(rows)

    def mark(self, name: str) -> None:
        """Add a marker by its record type; any marker except an end aborts an open transaction."""
        if self._open is not None and name == END:
            self._settled.extend(self._open)
        self._open = Fold() if name == BEGIN else None
        self._current = self._settled if self._open is None else self._open

    def in_effect(self) -> pyarrow.Table:
        """Return the fold of the rows that took effect; only allowed if `from_start` is true."""
        return self._settled.table()

    def apart(self) -> Iterator[pyarrow.Table]:
        """Yield the separate folds; the last task sorts them by position and folds them again."""
        for fold in dict.fromkeys((self._head, self._settled, self._open)):
            if fold is not None:
                yield fold.table()
