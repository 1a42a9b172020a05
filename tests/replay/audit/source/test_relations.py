"""`format("metalog")` reads every relation: the same rows as the audit's own views."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay import audit
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.log_source import LogSource, register
from replay.audit.queries.asking import Range
from replay.audit.source.options import RECORDS, RELATIONS
from replay.sql_history.tables import metadata
from tests.own_logs import write_history
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit.duck.test_equal_to_spark import texts, types
from tests.replay.audit.slow_starts import restarted
from tests.replay.audit.source.reading import read, source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

REAL = "log4j2-migration-removetopic/data"
FEW = ("changes", "partitions", "partition_outages")
"""The relations that are read through Spark in every run; all of them by `make heavy`."""


@each_data_set_where(lambda each: str(each) == REAL, is_heavy=lambda each: False)
def test_few_relations_of_a_real_log(
    spark: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    compare(spark, imported(data_set, tmp_path), FEW)


@pytest.mark.heavy
@each_data_set_where(lambda each: str(each) == REAL, is_heavy=lambda each: True)
def test_every_relation_of_a_real_log(
    spark: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    compare(spark, imported(data_set, tmp_path), sorted(RELATIONS))


def imported(data_set: DataSet, folder: Path) -> Path:
    import_directory(open_directory(data_set.materialise(folder)), folder / "log")
    return folder / "log"


def compare(spark: "SparkSession", log: Path, relations: tuple[str, ...] | list[str]) -> None:
    """Compare what the source reads, from a third of the log on, with the library's frames."""
    register(spark)
    with LogReader.open(log) as reader:
        offsets = Range(reader.end_offset // 3, reader.end_offset - 1)
    with audit.open(log, spark) as opened:
        for relation in relations:
            reading = spark.read.format("metalog").option("relation", relation)
            reading = reading.option("since", offsets.first).option("at", offsets.last)
            frame = reading.option("includeUnconfirmed", "true").load(str(log))
            assert all("comment" in each.metadata for each in frame.schema), relation
            found = restarted(frame.toArrow)
            name = "log" if relation == RECORDS else relation
            wanted = opened._audit.view(name, offsets).toArrow()
            columns = [each for each in found.column_names if each in wanted.column_names]
            assert set(found.column_names) - set(columns) <= {"data", "confirmed"}
            assert set(wanted.column_names) - set(columns) <= {"payload"}
            found, wanted = found.select(columns), wanted.select(columns)
            assert types(found) == types(wanted), relation
            assert texts(found) == texts(wanted), relation


async def test_every_relation_has_the_types_it_announces(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", seed=3, batches=14)
    with LogReader.open(log) as reader, DuckAudit(committed_files(reader), keep=True) as opened:
        for relation in sorted(RELATIONS - {RECORDS}):
            expected = opened.view(relation, Range(8, 24))
            found = read(log, relation=relation, since="8", at="24")
            extra = {"confirmed"} if relation == "changes" else set()
            assert set(found.column_names) == {*expected.column_names, *extra}
            assert texts(found.select(expected.column_names)) == texts(expected), relation


def test_every_column_of_every_relation_has_a_comment(demo_log: Path) -> None:
    for relation in RELATIONS:
        for field in source(demo_log, relation=relation).schema():
            assert len(field.metadata["comment"]) > 4, (relation, field.name)


def test_a_field_of_a_record_has_the_comment_of_the_sql_table(demo_log: Path) -> None:
    """Both are the text of the record's schema."""
    for relation, table in {"topics": "topic_version", "brokers": "broker_version"}.items():
        schema = source(demo_log, relation=relation).schema()
        comments = {each.name: each.comment for each in metadata.tables[table].columns}
        shared = [each for each in schema if each.name in comments]
        assert len(shared) > 2
        for field in shared:
            assert field.metadata["comment"] == comments[field.name]


def test_a_point_is_an_offset_or_a_time(demo_log: Path) -> None:
    before = read(demo_log, relation="topics", at="300")
    now = read(demo_log, relation="topics")
    assert 0 < before.num_rows != now.num_rows
    rows = read(demo_log, until="300", columns="time").to_pylist()
    time = rows[-1]["time"].isoformat()
    assert read(demo_log, relation="topics", at=time) == before
    assert read(demo_log, since=time).num_rows < read(demo_log).num_rows


def test_only_the_columns_of_the_option_are_read(demo_log: Path) -> None:
    found = read(demo_log, columns="type, offset")
    assert found.column_names == ["type", "offset"]
    assert found["offset"].to_pylist() == list(range(found.num_rows))
    changes = read(demo_log, relation="changes", columns="kind,confirmed")
    assert changes.column_names == ["kind", "confirmed"]
    # The order is not promised: within a task it is that in which blocks of a shuffle arrive.
    whole = read(demo_log, relation="changes")["kind"]
    assert sorted(changes["kind"].to_pylist()) == sorted(whole.to_pylist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relation": "topic"}, "no relation 'topic'; write acls, all_changes"),
        ({"relation": "topics", "columns": "nmae"}, "topics has no column 'nmae'; it has topic_id"),
        ({"at": "5", "until": "5"}, "at and until are the same point"),
        ({"since": "5", "startingOffset": "5"}, "since and startingOffset both bound the range"),
        ({"at": "yesterday"}, "'yesterday' is neither an offset nor a time"),
        ({"relation": "topics", "snapshot": "true"}, "snapshot is for a stream of changes"),
        ({"relation": "changes", "failOnDataLoss": "false"}, "failOnDataLoss=false is for records"),
    ],
)
def test_wrong_options_of_a_batch_are_refused(
    demo_log: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        read(demo_log, **options)


def test_a_point_after_the_end_is_refused(demo_log: Path) -> None:
    with pytest.raises(RequestError, match="offset 5000 is past the end: the log ends at 1309"):
        read(demo_log, relation="topics", at="5000")


def test_a_state_is_not_streamed(demo_log: Path) -> None:
    with pytest.raises(RequestError, match="topics cannot be streamed"):
        source(demo_log, relation="topics").streamReader(LogSource.schema)


def test_other_sessions_get_a_source_without_pushed_filters(demo_log: Path) -> None:
    """Spark refuses every query of a reader with that method if it does not push filters."""
    from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader

    for relation in (RECORDS, "topics"):
        options = CaseInsensitiveDict({"log": str(demo_log), "relation": relation})
        for cls, pushes in ((LogSource, False), (type(source(demo_log)), True)):
            reader = cls(options).reader(cls(options).schema())
            own = type(reader).pushFilters is not DataSourceReader.pushFilters
            assert own is pushes, (relation, cls)
