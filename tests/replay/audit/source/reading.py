"""Reads the source as Spark's workers do, without Spark: its processes cost a second a query."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceStreamReader, Filter
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable

from replay.audit.log_source import FilteringLogSource, LogSource

ALL = ReadAllAvailable()
Position = dict[str, Any]
Row = dict[str, Any]


def source(log: Path | str, **options: str) -> FilteringLogSource:
    return FilteringLogSource(CaseInsensitiveDict({"log": str(log), **options}))


def read(log: Path | str, *filters: Filter, **options: str) -> pyarrow.Table:
    """Return what the tasks of a batch query return; the filters are only pushed down."""
    reading = source(log, **options)
    reader = reading.reader(reading.schema())
    assert list(reader.pushFilters(list(filters))) == list(filters)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return _table(reading, batches)


def stream(log: Path | str, **options: str) -> DataSourceStreamReader:
    reading = source(log, **options)
    return reading.streamReader(reading.schema())


def triggers(
    log: Path | str, position: Position, **options: str
) -> Iterator[tuple[Position, list[Row]]]:
    """Yield the end and the rows of each trigger, each of which is planned by a new query."""
    while True:
        planning = stream(log, **options)
        end = planning.latestOffset(position, planning.getDefaultReadLimit())
        if end == position:
            return
        yield end, rows_between(log, position, end, **options)
        position = end


def rows_between(log: Path | str, start: Position, end: Position, **options: str) -> list[Row]:
    reading, reader = source(log, **options), stream(log, **options)
    batches = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
    found: list[Row] = _table(reading, batches).to_pylist()
    return found


def _table(reading: LogSource, batches: list[pyarrow.RecordBatch]) -> pyarrow.Table:
    """Return the batches as a table; each must have the types that Spark expects."""
    wanted = to_arrow_schema(reading.schema(), timezone="UTC")
    assert all(batch.schema.equals(wanted) for batch in batches)
    return pyarrow.Table.from_batches(batches, wanted)
