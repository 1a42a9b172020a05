"""The records of a log as a stream, from any position."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import pyarrow
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from metadata_log.format.commit_mark import CommitMark
from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from records.errors import UnknownHistoryError
from replay.audit.earlier_part import where_it_is
from replay.audit.source.options import Options
from replay.audit.source.recording import Recording, Stretch
from replay.audit.source.records import Span, read_span, spans_of
from replay.audit.stream_position import (
    check_same_history,
    limited_end,
    readable_end,
    stream_position,
)


class RecordStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads the log as a stream.

    `read` runs in Spark's workers; the other methods run in a single process beside the driver.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        # The end of what a query with the trigger `availableNow` reads.
        self._target: int | None = None
        # The position and the mark for which nothing new was found, so that polling is cheap.
        self._idle: tuple[dict[str, Any], CommitMark] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        with self._open() as reader:
            return position_json(reader, self.start(reader))

    def start(self, reader: LogReader) -> int:
        """Return the offset at which a new query begins."""
        return self.options.offset(reader, "startingOffset", self.options.starting_offset)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        if self.options.records_max is None:
            return ReadAllAvailable()
        return ReadMaxRows(self.options.records_max)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with self._open() as reader:
            self._target = self._readable_end(reader)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        with self._open() as reader:
            if self._idle == (start, reader.mark):
                return start
            position = msgspec.convert(start, Position)
            check_same_history(reader, position)
            first = position.end_offset
            end = self.end(reader, first, self._readable_end(reader), limit)
            if end > first:
                return position_json(reader, end)
            self._idle = start, reader.mark
            return self.idle(start)

    def end(self, reader: LogReader, first: int, end: int, limit: ReadLimit) -> int:
        """Return the end of a trigger that begins at `first`; at most `end`."""
        if isinstance(limit, ReadMaxRows):
            return limited_end(reader, first, end, limit.max_rows)
        return end

    def idle(self, start: dict[str, Any]) -> dict[str, Any]:
        """Return the position to report when no record follows `start`: `start` itself."""
        return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        begin, stop = msgspec.convert(start, Position), msgspec.convert(end, Position)
        with self._open() as reader, self._recording(reader) as recording:
            # A restarted query asks for a range that was planned before.
            check_same_history(reader, begin)
            check_same_history(reader, stop)
            kept = max(begin.end_offset, recording.start_offset)
            parts = recording.stretches(kept, stop.end_offset)
            where = where_it_is(recording)
        cut = Stretch(begin.end_offset, min(kept, stop.end_offset), is_kept=False)
        parts = parts if cut.is_empty else [cut, *parts]
        lost = next((each for each in parts if not each.is_kept), None)
        if lost is not None and self.options.fail_on_data_loss:
            why = "are no longer kept and were not read" if lost is cut else "were not recorded"
            raise UnknownHistoryError(
                f"{self.options.log}: offsets {lost.first} to {lost.end - 1} {why}; history goes "
                f"on at {max(kept, lost.end)}{where}. {self.after_a_gap}"
            )
        return [span for each in parts for span in spans_of(each, stop)]

    after_a_gap = (
        "To go on with a row of type HistoryGap in their place, set the option failOnDataLoss to "
        "false"
    )
    """Advice in the error about records that are no longer kept."""

    def read(self, partition: Span) -> Iterator[pyarrow.RecordBatch]:
        return read_span(self.options, partition)

    def _recording(self, reader: LogReader) -> AbstractContextManager[Recording]:
        """Return what is read: all parts of a recording."""
        return Recording.of(reader)

    def _open(self) -> LogReader:
        return LogReader.open(self.options.log)

    def _readable_end(self, reader: LogReader) -> int:
        end = readable_end(reader, unconfirmed=self.options.unconfirmed)
        return end if self._target is None else min(end, self._target)


def position_json(reader: LogReader, end_offset: int) -> dict[str, Any]:
    """Return the position at an end offset, as Spark keeps it in a checkpoint."""
    return msgspec.structs.asdict(stream_position(reader, end_offset))
