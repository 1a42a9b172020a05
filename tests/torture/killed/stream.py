"""A streaming query of Spark that is killed: it copies a log into Parquet files.

    python -m tests.torture.killed.stream LOG FOLDER            until it is killed
    python -m tests.torture.killed.stream LOG FOLDER --finish   up to the log's end

It writes the line `started` to its standard output. With `--finish` it writes the content of the
sink, as Spark reads it, to FOLDER/found.parquet.
"""

import sys
from pathlib import Path

import pyarrow.parquet
from pyspark.sql import SparkSession

from replay.audit.log_source import LogSource
from replay.audit.session import session
from tests.replay.audit.slow_starts import restarted

# Small, so that a kill falls into the middle of many triggers.
RECORDS_A_TRIGGER = 300


def copy(spark: SparkSession, log: str, folder: Path, *, finish: bool) -> None:
    """Run the query; without `finish` this does not return."""
    spark.dataSource.register(LogSource)
    rows = (
        spark.readStream.format("metalog")
        .option("log", log)
        .option("maxRecordsPerTrigger", RECORDS_A_TRIGGER)
        .load()
    )
    writer = (
        rows.writeStream.format("parquet")
        .option("path", str(folder / "sink"))
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    query = writer.trigger(availableNow=True) if finish else writer

    def run() -> None:
        running = query.start()
        print("started", flush=True)
        running.awaitTermination()

    restarted(run)


def main(log: str, folder: Path, *, finish: bool) -> None:
    with session(quick=True) as spark:
        copy(spark, log, folder, finish=finish)
        found = spark.read.parquet(str(folder / "sink")).select("offset", "type", "data")
        pyarrow.parquet.write_table(found.toArrow(), folder / "found.parquet")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), finish="--finish" in sys.argv)
