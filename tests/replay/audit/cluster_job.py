"""Queries of a log on a Spark cluster, as a program for spark-submit.

    spark-submit --master spark://HOST:7077 cluster_job.py LOG FOLDER ANSWERS

With a fourth argument, `sc://HOST:PORT`, the queries run through Spark Connect. All nodes share
FOLDER.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from replay import audit
from replay.audit.log_source import LogSource
from tests.replay.audit.slow_starts import restarted

SINCE = 900
KINDS, FIELDS = ("brokers", "partitions"), ("fenced", "isr", "leader", "mode", "replicas")

Answers = dict[str, list[list[Any]]]

_COUNTED = f"SELECT type, count(*) AS n FROM log WHERE offset < {SINCE} GROUP BY type"
_COMPARED = f"kind IN {KINDS} AND field IN {FIELDS}"


def ask(location: str, folder: Path, spark: SparkSession) -> Answers:
    """Return the sorted rows of each query."""
    with audit.open(location, spark) as log:
        # All over one history and one relation of changes, because planning is what takes long.
        changes = "offset", "kind", "field", "before", "after"
        answers = {
            "state": _rows(log.query("state"), "part", "objects", "string(lane_0)"),
            "brokers": _rows(log.state("brokers"), "broker_id", "fenced"),
            "changes": _rows(log.changes().where(_COMPARED), *changes),
            "diff": _rows(log.diff(SINCE - 1).where(_COMPARED), "kind", "field", "baseline", "now"),
            "log": _rows(log.log(), "offset", "type"),
            "sql": _rows(log.sql(_COUNTED), "type", "n"),
        }
        if "://" not in location:
            log.export(folder / "export")
            exported = spark.read.parquet(f"file://{folder}/export/day=*")
            answers["export"] = _rows(exported.where(_COMPARED), *changes)
    answers["stream"] = _rows(_streamed(location, folder, spark), "offset", "type")
    return answers


def _streamed(location: str, folder: Path, spark: SparkSession) -> DataFrame:
    spark.dataSource.register(LogSource)
    records = spark.readStream.format("metalog").load(location)
    writing = (
        records.writeStream.format("parquet")
        .option("path", f"file://{folder}/stream")
        .option("checkpointLocation", f"file://{folder}/checkpoint")
        .trigger(availableNow=True)
    )
    restarted(lambda: writing.start().awaitTermination())
    return spark.read.parquet(f"file://{folder}/stream")


def _rows(frame: DataFrame, *columns: str) -> list[list[Any]]:
    return sorted((list(row) for row in frame.selectExpr(*columns).collect()), key=repr)


def main(location: str, folder: str, answers: str, remote: str | None = None) -> None:
    """Run the queries, and write the answers as JSON."""
    builder = SparkSession.builder
    spark = (builder.remote(remote) if remote else builder).getOrCreate()
    Path(answers).write_text(json.dumps(ask(location, Path(folder), spark)))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
