"""The log as a Spark data source, batch and streaming: a directory, or an archive in a bucket.

    spark.dataSource.register(LogSource)
    spark.readStream.format("metalog").option("log", "/srv/log").load()

Our own reader reads the log in Spark's Python workers: unlike Spark's reader, it knows which
records are committed while the log is being written. docs/streaming.md describes the options and
the columns.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pyarrow
from pyspark.sql import types as T
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from metadata_log.format.commit_mark import CommitMark
from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from records.envelope import Envelope
from records.errors import RequestError, UnknownHistoryError
from replay.audit.record_rows import SCHEMA, arrow_batches, gap_batch
from replay.audit.stream_position import (
    check_same_history,
    limited_end,
    readable_end,
    stream_position,
)

# A task reads as many offsets, but a query never has more tasks than this.
_OFFSETS_A_TASK = 100_000
_TASKS_MAX = 200


class LogSource(DataSource):  # type: ignore[misc]  # mypy does not follow PySpark's imports
    """The records of a log, one row each, with the columns of `record_rows.SCHEMA`."""

    @classmethod
    def name(cls) -> str:
        return "metalog"

    def schema(self) -> T.StructType:
        return SCHEMA

    def reader(self, schema: T.StructType) -> DataSourceReader:
        return _BatchReader(_Options.parse(self.options))

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:  # noqa: N802
        return _StreamReader(_Options.parse(self.options))


OPTIONS = {
    *("log", "path", "startingoffset", "endingoffset", "maxrecordspertrigger"),
    *("failondataloss", "includeunconfirmed", "showsecrets"),
}
"""Names of the options, in lower case; `load(PATH)` sets `path`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Options:
    """The options of a query; docs/streaming.md describes each."""

    log: str
    starting_offset: str
    ending_offset: str
    records_max: int | None
    fail_on_data_loss: bool
    unconfirmed: bool
    show_secrets: bool

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> "_Options":
        """Parse options; Spark makes their names case-insensitive.

        Raises:
            RequestError: INVALID_REQUEST: an option has an invalid value, or `log` is missing.
        """
        if unknown := {name.lower() for name in given} - OPTIONS:
            raise _invalid(f"unknown option {min(unknown)}")
        log = given.get("log") or given.get("path")
        if not log:
            raise _invalid(
                'the option "log" is missing: a log directory, or s3://bucket/prefix. Spark keeps '
                "no options of a table of a Python source; instead of CREATE TABLE write "
                "CREATE TEMPORARY VIEW records USING metalog OPTIONS (log '...')"
            )
        records_max = given.get("maxRecordsPerTrigger")
        return cls(
            log=log.removeprefix("file://"),
            starting_offset=given.get("startingOffset") or "earliest",
            ending_offset=given.get("endingOffset") or "latest",
            records_max=None
            if records_max is None
            else _positive("maxRecordsPerTrigger", records_max),
            fail_on_data_loss=_flag(given, "failOnDataLoss", default=True),
            unconfirmed=_flag(given, "includeUnconfirmed", default=False),
            show_secrets=_flag(given, "showSecrets", default=False),
        )

    def offset(self, reader: LogReader, name: str, text: str) -> int:
        """Return the offset that an option's value means: `earliest`, `latest` or a number.

        Args:
            name: The option's name, for error messages.
        """
        start, end = reader.start_offset, readable_end(reader, unconfirmed=self.unconfirmed)
        if text in ("earliest", "latest"):
            return start if text == "earliest" else end
        if not text.isdecimal():
            raise _invalid(f"{name} must be earliest, latest or an offset, not {text!r}")
        if int(text) < start:
            raise UnknownHistoryError(f"offset {text} is not kept: history starts at {start}")
        if int(text) > end:
            raise RequestError("OFFSET_OUT_OF_RANGE", f"{name} {text}: the log ends at {end}")
        return int(text)


class _Span(InputPartition):  # type: ignore[misc]
    """The offsets [first, end) that a task reads; `is_kept`: False if the log has deleted them."""

    def __init__(self, first: int, end: int, *, is_kept: bool = True) -> None:
        super().__init__((first, end))
        self.first = first
        self.end = end
        self.is_kept = is_kept


class _BatchReader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, options: _Options) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        options = self._options
        with LogReader.open(options.log) as reader:
            first = options.offset(reader, "startingOffset", options.starting_offset)
            end = options.offset(reader, "endingOffset", options.ending_offset)
        # Spark takes an empty list for one partition.
        return [*_spans(first, end)] or [_Span(end, end)]

    def read(self, partition: _Span) -> Iterator[pyarrow.RecordBatch]:
        return _read(self._options, partition)


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads the log as a stream, from any position.

    `read` runs in Spark's workers; the other methods run in a single process beside the driver.
    """

    def __init__(self, options: _Options) -> None:
        self._options = options
        # The end of what a query with the trigger `availableNow` reads.
        self._target: int | None = None
        # The position and the mark for which nothing new was found, so that polling is cheap.
        self._idle: tuple[dict[str, Any], CommitMark] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        with self._open() as reader:
            text = self._options.starting_offset
            return _json(reader, self._options.offset(reader, "startingOffset", text))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        if self._options.records_max is None:
            return ReadAllAvailable()
        return ReadMaxRows(self._options.records_max)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with self._open() as reader:
            self._target = self._end(reader)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        with self._open() as reader:
            if self._idle == (start, reader.mark):
                return start
            position = msgspec.convert(start, Position)
            check_same_history(reader, position)
            first, end = position.end_offset, self._end(reader)
            if isinstance(limit, ReadMaxRows):
                end = limited_end(reader, first, end, limit.max_rows)
            if end > first:
                return _json(reader, end)
            self._idle = start, reader.mark
            return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        begin, stop = msgspec.convert(start, Position), msgspec.convert(end, Position)
        with self._open() as reader:
            # A restarted query asks for a range that was planned before.
            check_same_history(reader, begin)
            check_same_history(reader, stop)
            kept = max(begin.end_offset, reader.start_offset)
        if kept == begin.end_offset:
            return [*_spans(kept, stop.end_offset)]
        if self._options.fail_on_data_loss:
            raise UnknownHistoryError(
                f"{self._options.log}: offsets {begin.end_offset} to {kept - 1} are no longer kept "
                f"and were not read; history starts at {kept}. To go on with a row of type "
                "HistoryGap in their place, set the option failOnDataLoss to false"
            )
        gap = _Span(begin.end_offset, min(kept, stop.end_offset), is_kept=False)
        return [gap, *_spans(kept, stop.end_offset)]

    def read(self, partition: _Span) -> Iterator[pyarrow.RecordBatch]:
        return _read(self._options, partition)

    def _open(self) -> LogReader:
        return LogReader.open(self._options.log)

    def _end(self, reader: LogReader) -> int:
        end = readable_end(reader, unconfirmed=self._options.unconfirmed)
        return end if self._target is None else min(end, self._target)


def _spans(first: int, end: int) -> Iterator[_Span]:
    step = max(_OFFSETS_A_TASK, (end - first) // _TASKS_MAX + 1)
    return (_Span(at, min(at + step, end)) for at in range(first, end, step))


def _read(options: _Options, span: _Span) -> Iterator[pyarrow.RecordBatch]:
    if not span.is_kept:
        yield gap_batch(span.first, span.end)
        return
    with LogReader.open(options.log) as reader:
        rows, secrets = _rows(reader, span), options.show_secrets
        yield from arrow_batches(rows, reader.confirmed_end, show_secrets=secrets)


def _rows(reader: LogReader, span: _Span) -> Iterator[Envelope]:
    """Yield the rows at the offsets of a span, without other rows of its first and last batch."""
    for batch in reader.batches(span.first, span.end):
        for row in batch.rows:
            if span.first <= row.offset < span.end:
                yield row


def _json(reader: LogReader, end_offset: int) -> dict[str, Any]:
    return msgspec.structs.asdict(stream_position(reader, end_offset))


def _positive(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise _invalid(f"{name} must be a number of records above 0, not {text!r}")
    return int(text)


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name) or str(default)
    if text.lower() not in ("true", "false"):
        raise _invalid(f"{name} must be true or false, not {text!r}")
    return text.lower() == "true"


def _invalid(message: str) -> RequestError:
    return RequestError("INVALID_REQUEST", message)
