"""Streaming queries of Spark that are killed: they copy a log.

`records` and `changes` write Parquet files, `tables` adds the changes to a table of Delta and one
of Iceberg by the functions of docs/streaming.md.

    python -m tests.torture.killed.stream LOG FOLDER QUERY...             until it is killed
    python -m tests.torture.killed.stream LOG FOLDER QUERY... --finish    up to the log's end

It writes the line `started` to its standard output. With `--finish` it writes the content of each
sink to FOLDER/SINK.parquet: of `tables`, as DuckDB reads it, to `delta` and `iceberg`.
"""

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from replay.audit.log_source import LogSource
from replay.audit.session import session
from replay.audit.source.options import CHANGES
from tests.replay.audit.slow_starts import restarted

# Small, so that a kill falls into the middle of many triggers.
RECORDS_A_TRIGGER = 300

TABLES = "tables"

_DOCUMENT = Path(__file__).parents[3] / "docs" / "streaming.md"


def copy(
    spark: SparkSession, log: str, folder: Path, queries: Collection[str], *, finish: bool
) -> None:
    """Run the queries; without `finish` this does not return."""
    spark.dataSource.register(LogSource)

    def run() -> None:
        running = [_started(spark, log, folder, each, finish=finish) for each in queries]
        print("started", flush=True)
        try:
            for query in running:
                query.awaitTermination()
        finally:
            for query in running:
                query.stop()

    restarted(run)


def _started(
    spark: SparkSession, log: str, folder: Path, query: str, *, finish: bool
) -> StreamingQuery:
    rows = (
        spark.readStream.format("metalog")
        .option("log", log)
        .option("relation", CHANGES if query == TABLES else query)
        .option("maxRecordsPerTrigger", RECORDS_A_TRIGGER)
        .load()
    )
    writer = rows.writeStream.option("checkpointLocation", str(folder / query / "checkpoint"))
    if query == TABLES:
        writer = writer.foreachBatch(_documented(folder)["to_both"])
    else:
        writer = writer.format("parquet").option("path", str(folder / query / "sink"))
    return (writer.trigger(availableNow=True) if finish else writer).start()


def _documented(folder: Path) -> Mapping[str, Any]:
    """Run the beginning of the document's program, with `folder` for /srv; return what it made."""
    (program,) = re.findall(
        r"^import duckdb\n.*?(?=^with session)", _DOCUMENT.read_text(), re.MULTILINE | re.DOTALL
    )
    made: dict[str, Any] = {}
    exec(program.replace("/srv", str(folder)), made)
    return made


def _copies(spark: SparkSession, folder: Path, query: str) -> Mapping[str, pyarrow.Table]:
    """Return the content of a query's sinks, by sink."""
    import duckdb  # not before a fork: tests/forked_workers.py

    if query != TABLES:
        return {query: spark.read.parquet(str(folder / query / "sink")).toArrow()}
    made = _documented(folder)
    delta = made["DeltaTable"](folder / "delta").to_pyarrow_dataset()
    iceberg = made["catalog"].load_table("log.changes").scan().to_arrow()
    return {
        name: duckdb.from_arrow(found).to_arrow_table()
        for name, found in (("delta", delta), ("iceberg", iceberg))
    }


def main(log: str, folder: Path, queries: Collection[str], *, finish: bool) -> None:
    with session(quick=True) as spark:
        copy(spark, log, folder, queries, finish=finish)
        if finish:
            for query in queries:
                for sink, found in _copies(spark, folder, query).items():
                    pyarrow.parquet.write_table(found, folder / f"{sink}.parquet")


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if each != "--finish"]
    main(given[0], Path(given[1]), given[2:], finish="--finish" in sys.argv)
