"""The records of a log as a batch; `spans_of` and `read_span` serve the stream too.

Our own reader reads the log in Spark's Python workers: unlike Spark's reader, it knows which
records are committed while the log is being written, and starts at any offset by the index.
"""

from collections.abc import Collection, Iterator

import pyarrow
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from records.envelope import Envelope
from replay.audit.record_rows import SCHEMA, arrow_batches, gap_batch
from replay.audit.source.filters import PushedFilters, bounds_of, names_of, narrowed
from replay.audit.source.options import Options
from replay.audit.source.recording import Recording, Stretch
from replay.audit.stream_position import check_same_history

# A task reads as many offsets, but a query never has more tasks than this.
_OFFSETS_A_TASK = 100_000
_TASKS_MAX = 200


class Span(InputPartition):  # type: ignore[misc]
    """The offsets [first, end) that a task reads.

    Attributes:
        is_kept: False if the log has deleted the records at these offsets.
        is_snapshot: True if the task reads the state that the records result in, not the changes.
        planned: Of a stream, the position up to which it reads: the log must still have it.
        log: The log that has the offsets; None: the one in the options.
    """

    def __init__(
        self,
        first: int,
        end: int,
        *,
        is_kept: bool = True,
        is_snapshot: bool = False,
        planned: Position | None = None,
        log: str | None = None,
    ) -> None:
        super().__init__((first, end))
        self.first = first
        self.end = end
        self.is_kept = is_kept
        self.is_snapshot = is_snapshot
        self.planned = planned
        self.log = log

    def check(self, reader: LogReader) -> None:
        """Check that the log has not been replaced or cut since the query was planned.

        Raises:
            RequestError: WRONG_LOG, it was.
            CorruptLogError: the log is damaged at the position.
        """
        if self.planned is not None:
            check_same_history(reader, self.planned)


class RecordReader(DataSourceReader):  # type: ignore[misc]
    """Reads the records in a range, a task for each part of it; a gap has a row of its own."""

    filters: tuple[Filter, ...] = ()

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        with LogReader.open(self._options.log) as reader, Recording.of(reader) as recording:
            offsets = self._options.range_of(recording)
            offsets = narrowed(recording, offsets, bounds_of(self.filters))
            parts = recording.stretches(offsets.first, offsets.last + 1)
        found = [span for part in parts for span in spans_of(part)]
        # Spark takes an empty list for one partition.
        return [*found] or [Span(offsets.first, offsets.first)]

    def read(self, partition: Span) -> Iterator[pyarrow.RecordBatch]:
        return read_span(self._options, partition, names_of(self.filters, "type"))


class FilteringRecordReader(PushedFilters, RecordReader):
    """A `RecordReader` for sessions that push filters down."""


def spans_of(part: Stretch, planned: Position | None = None) -> Iterator[Span]:
    """Yield the offset ranges that Spark's tasks read from one part of a recording, or from a gap.

    A gap gets a single task, which yields one row.

    Args:
        planned: Position up to which a stream reads (see `Span`). Tasks of an earlier part ignore
            it, because that part never changes.
    """
    if not part.is_kept:
        yield Span(part.first, part.end, is_kept=False)
        return
    step = max(_OFFSETS_A_TASK, (part.end - part.first) // _TASKS_MAX + 1)
    for at in range(part.first, part.end, step):
        end = min(at + step, part.end)
        yield Span(at, end, log=part.log, planned=None if part.log else planned)


def read_span(
    options: Options, span: Span, types: Collection[str] | None = None
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a span.

    Args:
        types: Names of the record types to return; None: all.

    Raises:
        UnknownHistoryError: the log has deleted the records since the query was planned.
        RequestError: WRONG_LOG, it was replaced or cut since.
        CorruptLogError: the log is damaged.
    """
    columns = options.chosen(SCHEMA.names)
    if not span.is_kept:
        yield gap_batch(span.first, span.end, columns)
        return
    with LogReader.open(span.log or options.log) as reader:
        span.check(reader)
        rows = _rows(reader, span)
        if types is not None:
            rows = (row for row in rows if type(row.payload).__name__ in types)
        secrets = options.show_secrets
        yield from arrow_batches(rows, reader.confirmed_end, columns, show_secrets=secrets)


def _rows(reader: LogReader, span: Span) -> Iterator[Envelope]:
    """Yield the rows at the offsets of a span, without other rows of its first and last batch."""
    for batch in reader.batches(span.first, span.end):
        for row in batch.rows:
            if span.first <= row.offset < span.end:
                yield row
