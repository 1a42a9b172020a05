"""Two streaming queries of Spark that are killed: they copy a log into Parquet files.

One copies the records, one the changes.

    python -m tests.torture.killed.stream LOG FOLDER            until it is killed
    python -m tests.torture.killed.stream LOG FOLDER --finish   up to the log's end

It writes the line `started` to its standard output. With `--finish` it writes the content of each
sink, as Spark reads it, to FOLDER/RELATION.parquet.
"""

import sys
from pathlib import Path

import pyarrow.parquet
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from replay.audit.log_source import LogSource
from replay.audit.session import session
from replay.audit.source.options import STREAMED
from tests.replay.audit.slow_starts import restarted

# Small, so that a kill falls into the middle of many triggers.
RECORDS_A_TRIGGER = 300


def copy(spark: SparkSession, log: str, folder: Path, *, finish: bool) -> None:
    """Run the queries; without `finish` this does not return."""
    spark.dataSource.register(LogSource)

    def run() -> None:
        running = [_started(spark, log, folder / each, each, finish=finish) for each in STREAMED]
        print("started", flush=True)
        try:
            for query in running:
                query.awaitTermination()
        finally:
            for query in running:
                query.stop()

    restarted(run)


def _started(
    spark: SparkSession, log: str, folder: Path, relation: str, *, finish: bool
) -> StreamingQuery:
    rows = (
        spark.readStream.format("metalog")
        .option("log", log)
        .option("relation", relation)
        .option("maxRecordsPerTrigger", RECORDS_A_TRIGGER)
        .load()
    )
    writer = (
        rows.writeStream.format("parquet")
        .option("path", str(folder / "sink"))
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    return (writer.trigger(availableNow=True) if finish else writer).start()


def main(log: str, folder: Path, *, finish: bool) -> None:
    with session(quick=True) as spark:
        copy(spark, log, folder, finish=finish)
        for relation in STREAMED:
            found = spark.read.parquet(str(folder / relation / "sink"))
            pyarrow.parquet.write_table(found.toArrow(), folder / f"{relation}.parquet")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), finish="--finish" in sys.argv)
