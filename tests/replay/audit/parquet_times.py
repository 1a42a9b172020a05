"""The type of times in Parquet files, as other readers see it."""

import json
import tempfile
from datetime import datetime
from pathlib import Path

import pyarrow.parquet


def check_times(path: Path) -> None:
    """Check that the column `time` is an instant, for each reader, with the same values."""
    parquet = pyarrow.parquet.ParquetFile(path)
    column = parquet.schema.column(parquet.schema.names.index("time"))
    assert (column.physical_type, column.logical_type.type) == ("INT64", "TIMESTAMP")
    assert json.loads(column.logical_type.to_json())["isAdjustedToUTC"] is True
    times = sorted(parquet.read().column("time").to_pylist())
    assert _of_duckdb(path) == times
    with tempfile.TemporaryDirectory() as directory:
        assert _of_iceberg(path.absolute(), directory) == times
    with tempfile.TemporaryDirectory() as directory:
        assert _of_delta(path, directory) == times


def _of_duckdb(path: Path) -> list[datetime]:
    import duckdb  # See tests/forked_workers.py.

    found = duckdb.sql(f"SELECT typeof(time), epoch_us(time) FROM '{path}' ORDER BY 2").fetchall()
    assert {kind for kind, _ in found} == {"TIMESTAMP WITH TIME ZONE"}
    return [_instant(us) for _, us in found]


def _of_iceberg(path: Path, directory: str) -> list[datetime]:
    """Make a table of the file, which is added in place."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.types import TimestamptzType

    catalog = SqlCatalog("test", uri=f"sqlite:///{directory}/c.db", warehouse=f"file://{directory}")
    catalog.create_namespace("log")
    table = catalog.create_table("log.changes", schema=pyarrow.parquet.read_schema(path))
    table.add_files([str(path)])
    assert table.schema().find_field("time").field_type == TimestamptzType()
    found: list[datetime] = table.scan().to_arrow().column("time").to_pylist()
    catalog.close()
    return sorted(found)


def _of_delta(path: Path, directory: str) -> list[datetime]:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(directory, pyarrow.parquet.ParquetFile(path).read())
    found = DeltaTable(directory).to_pyarrow_table().column("time")
    assert found.type == pyarrow.timestamp("us", tz="UTC")
    times: list[datetime] = found.to_pylist()
    return sorted(times)


def _instant(us: int) -> datetime:
    value: datetime = pyarrow.scalar(us, pyarrow.timestamp("us", tz="UTC")).as_py()
    return value
