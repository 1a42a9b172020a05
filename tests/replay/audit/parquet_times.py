"""The type of times in Parquet files, as other readers see it."""

import json
from pathlib import Path

import pyarrow.parquet


def check_times(path: Path) -> None:
    """Check that the column `time` has a zone, and is none of Spark's old INT96."""
    import duckdb  # See tests/forked_workers.py.

    schema = pyarrow.parquet.ParquetFile(path).schema
    column = schema.column(schema.names.index("time"))
    assert (column.physical_type, column.logical_type.type) == ("INT64", "TIMESTAMP")
    assert json.loads(column.logical_type.to_json())["isAdjustedToUTC"] is True
    ((kind,),) = duckdb.sql(f"SELECT typeof(time) FROM '{path}' LIMIT 1").fetchall()
    assert kind == "TIMESTAMP WITH TIME ZONE"
