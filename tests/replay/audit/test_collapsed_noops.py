"""The named queries answer the same about a mirror with NoOps kept and collapsed."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from tests.real_logs import DataSet, each_data_set_where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LIGHT = ("cdc-lakehouse/kafka-data",)
"""It ends in a run of NoOps while something is in progress, which answers once told differently."""


@each_data_set_where(lambda each: True, is_heavy=lambda each: str(each) not in LIGHT)
def test_queries_answer_the_same_with_noops_kept_and_collapsed(
    spark: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    source = open_directory(data_set.materialise(tmp_path / "source"))
    kept, collapsed = (
        answers(spark, source, tmp_path / name, collapse_noops=name == "collapsed")
        for name in ("kept", "collapsed")
    )
    for name, rows in kept.items():
        assert collapsed[name] == rows, name
    assert any(kept.values())


def answers(
    spark: "SparkSession", source: KraftDirectory, folder: Path, *, collapse_noops: bool
) -> dict[str, list[str]]:
    """Return the answers to all queries about the whole history of a mirror."""
    import_directory(source, folder, collapse_noops=collapse_noops)
    with LogReader.open(folder) as reader:
        files = committed_files(reader)
        offsets = Range(files.history_start, files.end_offset - 1)
        with Audit(spark, files, keep=True) as audit:
            return {
                name: sorted(map(repr, audit.query(query, offsets).collect()))
                for name, query in QUERIES.items()
            }
