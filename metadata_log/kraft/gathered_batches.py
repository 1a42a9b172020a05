"""Gathering of whole batches of the source into blocks of a mirror.

A live controller writes batches of one or two records. Such a batch takes about three times as many
bytes in a block of its own as in a block with other batches. Gathered batches are not written yet;
the source still has them.
"""

import time
from collections.abc import Callable, Sequence

from metadata_log.kraft.noop_runs import NoOpRuns
from metadata_log.kraft_format.batch import KraftBatch
from metadata_log.limits import GATHERED_BYTES_MAX, GATHERED_RECORDS_MAX
from records.envelope import Envelope

Write = Callable[[Sequence[Envelope], int], None]
"""Writes the rows of a block; the second argument is the offset after them."""


class Gathering:
    """Gathers batches into blocks, and passes on the rows of each block, in order.

    A block has whole batches of one epoch. A batch is never divided, but a run of NoOp batches
    becomes one batch of one record (noop_runs.py).
    """

    def __init__(
        self, write: Write, *, collapse_noops: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start without gathered batches; `clock` returns seconds."""
        self._write = write
        self._clock = clock
        self._runs = NoOpRuns(self._take, collapse=collapse_noops)
        self._rows: list[Envelope] = []
        self._end_offset = 0
        self._size_bytes = 0
        self._first_offset: int | None = None
        self._since = 0.0

    @property
    def first_offset(self) -> int | None:
        """The offset of the first gathered record, which is not written yet; None if nothing is
        gathered.
        """
        return self._first_offset

    @property
    def age_s(self) -> float:
        """Age of the oldest gathered batch in seconds; 0 if there is none."""
        return 0.0 if self._first_offset is None else self._clock() - self._since

    def add(self, batch: KraftBatch) -> None:
        """Add the next batch; write the current block if it is full."""
        if self._first_offset is None:
            self._first_offset, self._since = batch.base_offset, self._clock()
        self._runs.add(batch)

    def add_alone(self, batch: KraftBatch) -> None:
        """Add the next batch, but never to a run of NoOps."""
        if self._first_offset is None:
            self._first_offset, self._since = batch.base_offset, self._clock()
        self._runs.flush()
        self._take(batch.rows, batch.end_offset, batch.size)

    def flush(self) -> None:
        """Write all gathered batches."""
        self._runs.flush()
        self._write_block()
        self._first_offset = None

    def _take(self, rows: Sequence[Envelope], end_offset: int, size_bytes: int) -> None:
        """Add a batch, or a run of NoOps, to the current block."""
        is_of_block = not self._rows or self._rows[0].leader_epoch == rows[0].leader_epoch
        if not is_of_block or self._size_bytes + size_bytes > GATHERED_BYTES_MAX:
            self._write_block()
        self._rows += rows
        self._end_offset = end_offset
        self._size_bytes += size_bytes
        if len(self._rows) >= GATHERED_RECORDS_MAX:
            self._write_block()

    def _write_block(self) -> None:
        rows, self._rows, self._size_bytes = self._rows, [], 0
        if rows:
            self._first_offset, self._since = self._end_offset, self._clock()
            self._write(rows, self._end_offset)
