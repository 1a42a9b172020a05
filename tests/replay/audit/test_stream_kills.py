"""Streaming queries are killed once; `make torture` kills 20 times (campaigns/streams.py)."""

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.parquet
import pytest

from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.queries.asking import Range
from replay.audit.source.options import STREAMED
from tests.own_logs import write_history
from tests.torture.campaigns import streams
from tests.torture.killed import stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


async def test_killed_queries_have_copied_every_record_and_change_once(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """The queries resume in the session of the tests, which saves a start of Java."""
    log = tmp_path / "log"
    create_log(log, "streamed-cluster")
    await streams.kill_once(log, tmp_path, STREAMED, random.Random(3))
    stream.main(str(log), tmp_path, STREAMED, finish=True)
    assert streams.differences(log, tmp_path, STREAMED) == []


@pytest.mark.heavy
async def test_killed_query_has_added_every_change_to_delta_and_iceberg_once() -> None:
    outcome = await streams.kill_some_times(seed=1, kills=4, queries=[stream.TABLES])
    assert [each.message for each in outcome.failures] == []


async def test_record_that_is_missing_or_there_twice_is_noticed(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=3)
    with LogReader.open(log) as reader:
        rows = [streams.expected_row(row) for batch in reader.batches() for row in batch.rows]
        with DuckAudit(committed_files(reader)) as opened:
            changes = opened.view("changes", Range(0, reader.end_offset - 1))
    columns = dict(
        zip(("offset", "type", "data"), zip(*rows[1:], rows[-1], strict=True), strict=True)
    )
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "records.parquet")
    confirmed = pyarrow.repeat(True, changes.num_rows)
    copied = changes.append_column("confirmed", confirmed).slice(1)
    pyarrow.parquet.write_table(copied, tmp_path / "changes.parquet")
    assert streams.differences(log, tmp_path, STREAMED) == [
        f"missing: {rows[0]}",
        f"surplus: {rows[-1]}, 1 times",
        f"missing: {tuple(changes.slice(0, 1).to_pylist()[0].values())}",
    ]
