"""DuckDB's answers are Spark's: the same rows in the same order, of the same types."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.log_files import LogFiles
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.audit.view_names import LOG_VIEW, VIEWS
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit.log_on_disk import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LIGHT = ("kafka-raft-3node-33/data_kafka1",)
PARAMETERS: dict[str, dict[str, Any]] = {
    "out-of-hours": {"zone": "Asia/Kolkata", "from_hour": 9},
    "baseline-drift": {
        "baseline": '{"parts": {"configs": ['
        '{"object": "config:topic/nowhere", "version": 1, "retention.ms": "1"}, '
        '{"object": "config:broker/", "delete.topic.partition.enable": "no"}]}}'
    },
}


@each_data_set_where(lambda each: True, is_heavy=lambda each: str(each) not in LIGHT)
def test_answers_about_a_real_log(spark: "SparkSession", tmp_path: Path, data_set: DataSet) -> None:
    import_directory(open_directory(data_set.materialise(tmp_path)), tmp_path / "log")
    with LogReader.open(tmp_path / "log") as reader:
        files = committed_files(reader)
        for part in (0, 3):
            size = files.end_offset - files.history_start
            first = files.history_start + (size // part if part else 0)
            parameters = PARAMETERS if part else {}
            compare_answers(spark, files, Range(first, files.end_offset - 1), parameters)


def test_answers_about_an_own_log(spark: "SparkSession", tmp_path: Path) -> None:
    files = write_log(tmp_path, random_history(random.Random(11), 400))
    offsets = Range(files.end_offset // 3, files.end_offset - 1)
    compare_answers(spark, files, offsets, PARAMETERS)


@pytest.mark.heavy
def test_views_of_an_own_log(spark: "SparkSession", tmp_path: Path) -> None:
    files = write_log(tmp_path, random_history(random.Random(11), 400))
    compare_views(spark, files, Range(files.end_offset // 3, files.end_offset - 1))


def compare_answers(
    spark: "SparkSession", files: LogFiles, offsets: Range, parameters: dict[str, dict[str, Any]]
) -> None:
    rows = 0
    with Audit(spark, files, keep=True) as theirs, DuckAudit(files, keep=True) as ours:
        for name, query in QUERIES.items():
            chosen = parameters.get(name)
            expected = theirs.query(query, offsets, chosen).toArrow()
            found = ours.query(query, offsets, chosen)
            assert types(found) == types(expected), name
            assert found.to_pylist() == expected.to_pylist(), name
            rows += found.num_rows
    assert rows


def compare_views(spark: "SparkSession", files: LogFiles, offsets: Range) -> None:
    with Audit(spark, files, keep=True) as theirs, DuckAudit(files, keep=True) as ours:
        for name in sorted(VIEWS):
            expected = theirs.view(name, offsets)
            found = ours.view(name, offsets)
            if name == LOG_VIEW:  # a structure of all record types there, JSON here
                expected, found = expected.drop("payload"), found.drop_columns(["data"])
            columns = sorted(found.column_names)
            wanted = expected.select(*columns).toArrow()
            assert types(found.select(columns)) == types(wanted), name
            assert texts(found.select(columns)) == texts(wanted), name


def types(table: pyarrow.Table) -> list[tuple[str, str]]:
    """Return names and types; which columns may be null, and how the items of lists are called,
    are no part of a type.
    """
    return [(field.name, _type(field.type)) for field in table.schema]


def _type(type_: pyarrow.DataType) -> str:
    if pyarrow.types.is_list(type_):
        return f"list<{_type(type_.value_type)}>"
    if pyarrow.types.is_struct(type_):
        return f"struct<{', '.join(f'{each.name}: {_type(each.type)}' for each in type_)}>"
    return str(type_)


def texts(table: pyarrow.Table) -> list[str]:
    """Return the rows in an order that does not depend on the engine."""
    return sorted(map(repr, table.to_pylist()))
