"""What an answer over a range lacks: records before the base, and what Kafka may still replace."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from api.cli.main import run
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror import MirrorBuilder
from replay.care.retain import retain
from tests.replay.builders import batches, partition, topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERY = "SELECT count(*) AS n FROM log"


def test_queries_say_from_where_records_are_not_confirmed(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(tmp_path / "log")
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
        for each in batches([topic("orders")], [partition("orders", 0)]):
            builder.append(each.rows, each.end_offset)
        builder.finish(1)
    said = "not confirmed from offset 1 on: Kafka may still replace these records"
    for more, lines in (([], ["n", "2", said]), (["--until", "0"], ["n", "1"])):
        assert run(["audit", "sql", log, QUERY, *more]) == 0
        assert capsys.readouterr().out.splitlines() == lines


async def test_queries_say_what_lies_before_the_base(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    create_log(log, "test-cluster")
    for name in ("orders", "prices"):
        # Each writer begins a segment.
        async with await MetadataLog.open(log) as writer:
            await writer.append(NewBatch(records=(topic(name),), timestamp=1))
    with LogReader.open(log) as reader:
        end = reader.end_offset
    retain(log, end - 1, check_dropped=lambda segments: None)
    with LogReader.open(log) as reader:
        start = reader.history_start
    assert 0 < start < end
    said = f"left out: offsets below {start}, before the base checkpoint, which holds only the "
    for command in (["audit", "sql", str(log), QUERY], ["audit", "deletions", str(log)]):
        assert run(command) == 0
        assert capsys.readouterr().out.splitlines()[-1] == said + "state there"
    assert run(["audit", "export", str(log), "--to", str(tmp_path / "out")]) == 0
    assert said in capsys.readouterr().out
