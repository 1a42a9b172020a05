"""Skim, then read: finds the rows that affect one object without decoding the other blocks.

Every block is read and checked, but only those that may hold a record that affects the object are
decoded (`reach` says which). The rows found are a history of their own: replayed alone, they lead
to the same object.

A record that contradicts the state of another object goes unnoticed, as it does with a snapshot.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

from metadata_log.batch import Batch
from metadata_log.needles import Needles
from records.envelope import Envelope
from records.errors import CorruptLogError
from replay.loader import BatchSource
from replay.time_travel.objects import ObjectName
from replay.time_travel.reach import Reach, reach_of
from replay.transactions import Transactions, rows_within


@runtime_checkable
class SkimmableSource(BatchSource, Protocol):
    """A log whose blocks can be searched without decoding them."""

    def skim(
        self, needles: Needles, to_offset: int | None = None, *, from_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches in [from_offset, to_offset) that hold a needle, and possibly others."""


def reaching_rows(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[Envelope], list[Envelope]] | None:
    """Return the rows below offset `end` that can affect an object, in the order they take effect.

    Returns:
        Rows of the base state, and rows of the log that take effect; None if the log cannot be
        skimmed for such an object, and must be read completely.
    """
    if not isinstance(source, SkimmableSource):
        return None
    try:
        reach = reach_of(name)
        if reach is None:
            return None
        while True:
            found = _rows_of(source, reach, end, progress)
            if not reach.add_missed():
                return found
    except (CorruptLogError, OverflowError, ValueError):
        # Reading the whole log raises the same error as other commands.
        return None


def _rows_of(
    source: SkimmableSource,
    reach: Reach,
    end: int,
    progress: Callable[[int], None] | None,
) -> tuple[list[Envelope], list[Envelope]]:
    base = [] if source.base is None else _flat(source.base.rows())
    before = [row for row in base if reach.takes(row)]
    after: list[Envelope] = []
    transactions = Transactions()
    for batch in source.skim(reach.needles, end):
        rows = rows_within(batch, source.history_start, end)
        after += [row for row in transactions.effective(rows) if reach.takes(row)]
        reach.needles.everything = transactions.begin_offset is not None
        if progress is not None:
            progress(batch.end_offset)
    reach.needles.everything = False
    return before, after


def _flat(batches: Iterable[tuple[Envelope, ...]]) -> list[Envelope]:
    return [row for rows in batches for row in rows]
