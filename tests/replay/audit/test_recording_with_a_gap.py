"""A recording with a gap in Spark itself: a frame of all parts, and the views of the gap."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from metadata_log.reader.log_reader import LogReader
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.log_source import register
from replay.audit.queries.asking import Range
from tests.api.quorum.recordings import generated, recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_spark_has_all_parts_the_gap_and_what_was_found_after_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    partition = generated(tmp_path) / "with-snapshots" / PARTITION_DIRECTORY
    recorded = recording(partition, tmp_path / "recorded" / "log")
    register(spark)
    frame = spark.read.format("metalog").load(str(recorded.log)).select("offset", "type")
    found = [tuple(row) for row in frame.collect()]
    kept = [*range(recorded.gap_start), *range(recorded.gap_end, recorded.end_offset)]
    assert sorted(offset for offset, type_ in found if type_ != "HistoryGap") == kept
    assert [offset for offset, type_ in found if type_ == "HistoryGap"] == [recorded.gap_start]
    with LogReader.open(recorded.log) as reader:
        files = committed_files(reader)
    newest = Range(recorded.gap_end, recorded.end_offset - 1)
    with Audit(spark, files) as ours, DuckAudit(files) as other:
        for view in ("gaps", "found_after_gap"):
            rows = ours.view(view, newest).toArrow().to_pylist()
            expected = other.view(view, newest).to_pylist()
            assert rows, view
            assert sorted(rows, key=repr) == sorted(expected, key=repr), view
