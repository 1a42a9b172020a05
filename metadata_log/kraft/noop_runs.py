"""Runs of NoOps as one record: an idle controller writes two a second, and nothing else."""

from collections.abc import Callable, Sequence

import msgspec

from metadata_log.kraft.batch import KraftBatch
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope

Write = Callable[[Sequence[Envelope], int], None]


class _Run(msgspec.Struct):
    first: KraftBatch
    last: KraftBatch
    batch_count: int


class NoOpRuns:
    """Passes batches on, in order, with each run of NoOp batches as one batch of one record.

    A run is of one epoch and its times never go back, so that within it a point in time is as
    good as any other: no record there changes anything.
    """

    def __init__(self, write: Write, *, collapse: bool) -> None:
        self._write = write
        self._collapse = collapse
        self._run: _Run | None = None

    def add(self, batch: KraftBatch) -> None:
        """Take the next batch."""
        if not self._collapse or not _is_noop(batch):
            self.flush()
            self._write(batch.rows, batch.end_offset)
            return
        run = self._run
        if (
            run is not None
            and run.last.leader_epoch == batch.leader_epoch
            and run.last.timestamp <= batch.timestamp
        ):
            run.last = batch
            run.batch_count += 1
            return
        self.flush()
        self._run = _Run(batch, batch, 1)

    def flush(self) -> None:
        """Write the run that is open; a single batch is written as it is."""
        run, self._run = self._run, None
        if run is None:
            return
        if run.batch_count == 1:
            self._write(run.first.rows, run.first.end_offset)
            return
        record = NoOpRunRecord(
            count=run.last.end_offset - run.first.base_offset,
            batch_count=run.batch_count,
            last_timestamp=run.last.timestamp,
        )
        first = msgspec.structs.replace(run.first.rows[0], payload=record)
        self._write([first], run.last.end_offset)


def _is_noop(batch: KraftBatch) -> bool:
    """Say whether nothing would be lost but the count and the times."""
    if type(batch.rows[0].payload) is not NoOpRecord:
        return False
    return all(type(row.payload) is NoOpRecord and row.extra is None for row in batch.rows)
