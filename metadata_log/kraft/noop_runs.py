"""Storing runs of NoOps as one record: an idle controller writes two NoOps a second, and nothing
else.
"""

from collections.abc import Callable, Sequence

import msgspec

from metadata_log.kraft_format.batch import KraftBatch
from metadata_log.limits import NOOP_PAUSE_MS_MIN
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope

Write = Callable[[Sequence[Envelope], int, int], None]
"""Writes rows; called with the rows, the offset after them, and their bytes in the source."""


class _Run(msgspec.Struct):
    first: KraftBatch
    last: KraftBatch
    batch_count: int


class NoOpRuns:
    """Passes batches on in order; each run of NoOp batches becomes one batch of one record.

    A run has one epoch and times that never decrease, and ends where the controller paused, so that
    the pause can be seen. The state is the same at every time inside a run, because its records
    change nothing.
    """

    def __init__(self, write: Write, *, collapse: bool) -> None:
        self._write = write
        self._collapse = collapse
        self._run: _Run | None = None

    def add(self, batch: KraftBatch) -> None:
        """Take the next batch: add a NoOp batch to the run; write any other batch after the run."""
        if not self._collapse or not is_noop(batch):
            self.flush()
            self._write(batch.rows, batch.end_offset, batch.size)
            return
        run = self._run
        if (
            run is not None
            and run.last.leader_epoch == batch.leader_epoch
            and 0 <= batch.timestamp - run.last.timestamp < NOOP_PAUSE_MS_MIN
        ):
            run.last = batch
            run.batch_count += 1
            return
        self.flush()
        self._run = _Run(batch, batch, 1)

    def flush(self) -> None:
        """Write the current run, if any; a run of one batch is written unchanged."""
        run, self._run = self._run, None
        if run is None:
            return
        if run.batch_count == 1:
            self._write(run.first.rows, run.first.end_offset, run.first.size)
            return
        record = NoOpRunRecord(
            count=run.last.end_offset - run.first.base_offset,
            batch_count=run.batch_count,
            last_timestamp=run.last.timestamp,
        )
        first = msgspec.structs.replace(run.first.rows[0], payload=record)
        self._write([first], run.last.end_offset, run.first.size)


def is_noop(batch: KraftBatch) -> bool:
    """True if the batch has only NoOps: if it is stored in a run, only the batch's time is lost."""
    if type(batch.rows[0].payload) is not NoOpRecord:
        return False
    return all(type(row.payload) is NoOpRecord and row.extra is None for row in batch.rows)
