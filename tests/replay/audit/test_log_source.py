"""The data source of a log: what a stream reads, up to which offset, and when it stops with an
error.
"""

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceStreamReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from metadata_log.care.backup import back_up
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import open_store
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.configs import ConfigRecord
from records.control import NoteRecord
from records.envelope import Envelope, Origin
from records.errors import RequestError, UnknownHistoryError
from records.partitions import ReplicaDeletionRecord
from replay.audit.log_source import LogSource
from replay.audit.record_rows import SCHEMA
from replay.care.retain import retain
from tests.metadata_log.test_mirror import level, mirror, row
from tests.own_logs import write_history
from tests.replay.audit.parquet_times import check_times
from tests.replay.audit.slow_starts import restarted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALL = ReadAllAvailable()


def source(log: Path | str, **options: str) -> LogSource:
    return LogSource(CaseInsensitiveDict({"log": str(log), **options}))


def stream(log: Path | str, **options: str) -> DataSourceStreamReader:
    return source(log, **options).streamReader(SCHEMA)


def rows_of(reader: DataSourceStreamReader, start: Any, end: Any) -> list[dict[str, Any]]:
    batches = [batch for span in reader.partitions(start, end) for batch in reader.read(span)]
    table = pyarrow.Table.from_batches(batches, to_arrow_schema(SCHEMA, timezone="UTC"))
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def offsets(log: Path | str) -> list[int]:
    with LogReader.open(log) as reader:
        return [row.offset for batch in reader.batches() for row in batch.rows]


async def append(directory: Path, *sizes: int) -> None:
    """Append batches of the given sizes; each call is a new epoch with its own segment."""
    log = await MetadataLog.open(directory)
    for size in sizes:
        note = NoteRecord(at_offset=0, author="ada", text="a note")
        await log.append(NewBatch(records=(note,) * size))
    await log.close()


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """A log of 15 records: the one of the epoch, and batches of 5, 1, 1 and 7."""
    create_log(tmp_path / "log", "test-cluster")
    await append(tmp_path / "log", 5, 1, 1, 7)
    return tmp_path / "log"


async def test_stream_goes_on_where_it_was_through_new_segments(log: Path) -> None:
    reader = stream(log)
    start = reader.initialOffset()
    middle = reader.latestOffset(start, ALL)
    assert middle["end_offset"] == 15
    assert reader.latestOffset(middle, ALL) == middle
    await append(log, 3)
    await append(log, 2)
    restarted = stream(log)
    end = restarted.latestOffset(middle, ALL)
    read = [
        row["offset"] for row in rows_of(reader, start, middle) + rows_of(restarted, middle, end)
    ]
    assert read == offsets(log)


def test_trigger_reads_whole_batches_within_its_limit(log: Path) -> None:
    reader = stream(log, maxRecordsPerTrigger="6")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(6)
    assert stream(log).getDefaultReadLimit() == ALL
    ends, position = [], reader.initialOffset()
    while (end := reader.latestOffset(position, limit)) != position:
        position = end
        ends.append(end["end_offset"])
    # The last batch is larger than the limit, and is read whole.
    assert ends == [6, 8, 15]


async def test_available_now_reads_up_to_what_was_there_at_its_start(log: Path) -> None:
    reader = stream(log)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    await append(log, 1)
    assert reader.latestOffset(start, ALL)["end_offset"] == 15


def test_starting_offset_is_earliest_latest_or_a_number(log: Path) -> None:
    for text, expected in {"earliest": 0, "latest": 15, "6": 6}.items():
        assert stream(log, startingOffset=text).initialOffset()["end_offset"] == expected
    with pytest.raises(RequestError, match="startingOffset must be earliest, latest or an offset"):
        stream(log, startingOffset="newest").initialOffset()
    with pytest.raises(RequestError, match="startingOffset 16 is past the end: the log ends at 15"):
        stream(log, startingOffset="16").initialOffset()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxRecordsPerTrigger": "0"}, "maxRecordsPerTrigger must be a number of records above 0"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss must be true or false"),
        ({"maxRecordsPerTigger": "5"}, "unknown option maxrecordspertigger"),
    ],
)
def test_wrong_options_are_refused(log: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(RequestError, match='the option "log" is missing'):
        stream("")
    with pytest.raises(RequestError, match=message):
        source(log, **options).streamReader(SCHEMA)


async def test_cut_history_fails_or_gives_a_row_for_the_gap(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=40)
    start = stream(log).initialOffset()
    retain(log, 100, check_dropped=lambda segments: None)
    with LogReader.open(log) as kept:
        first = kept.start_offset
    assert first > 0
    end = stream(log).latestOffset(start, ALL)
    with pytest.raises(UnknownHistoryError, match=f"offsets 0 to {first - 1} are no longer kept"):
        stream(log).partitions(start, end)
    gap, *others = rows_of(stream(log, failOnDataLoss="false"), start, end)
    assert (gap["offset"], gap["type"]) == (0, "HistoryGap")
    assert json.loads(gap["data"]) == {"from_offset": 0, "to_offset": first}
    assert [row["offset"] for row in others] == offsets(log)


async def test_log_that_was_replaced_is_refused(log: Path, tmp_path: Path) -> None:
    position = stream(log).latestOffset(stream(log).initialOffset(), ALL)
    for name, cluster_id, sizes, message in (
        ("other", "other-cluster", (20,), "what was read before is of test-cluster"),
        ("shorter", "test-cluster", (5,), "the stream is at 15, the log ends at 6"),
        (
            "fork",
            "test-cluster",
            (20,),
            "the log's records before offset 15 are not those that were read",
        ),
    ):
        create_log(tmp_path / name, cluster_id)
        await append(tmp_path / name, *sizes)
        with pytest.raises(RequestError, match=message) as refused:
            stream(tmp_path / name).latestOffset(position, ALL)
        assert refused.value.code == "WRONG_LOG"
        with pytest.raises(RequestError, match=message):
            stream(tmp_path / name).partitions(position, position)


def levels(*numbers: int) -> list[tuple[Envelope, int]]:
    return [(row(at, 1_000 + at, level(number)), at + 1) for at, number in enumerate(numbers)]


def test_unconfirmed_end_of_a_mirror_is_read_on_request_and_its_replacement_noticed(
    tmp_path: Path,
) -> None:
    before = mirror(tmp_path / "before", levels(1, 2, 3), confirmed_end=2)
    after = mirror(tmp_path / "after", levels(1, 2, 4, 5), confirmed_end=3)
    start = stream(before).initialOffset()
    confirmed = stream(before).latestOffset(start, ALL)
    assert confirmed["end_offset"] == 2
    # What was confirmed stays: the stream goes on.
    assert stream(after).latestOffset(confirmed, ALL)["end_offset"] == 3
    provisional = stream(before, includeUnconfirmed="true").latestOffset(start, ALL)
    assert provisional["end_offset"] == 3
    with pytest.raises(
        RequestError, match="the log's records before offset 3 are not those that were read"
    ):
        stream(after, includeUnconfirmed="true").latestOffset(provisional, ALL)


def test_each_row_says_whether_it_is_confirmed(tmp_path: Path) -> None:
    directory = mirror(tmp_path / "mirror", levels(1, 2, 3, 4), confirmed_end=2)
    reader = stream(directory, includeUnconfirmed="true")
    start = reader.initialOffset()
    found = rows_of(reader, start, reader.latestOffset(start, ALL))
    assert [(row["offset"], row["confirmed"]) for row in found] == [
        (0, True),
        (1, True),
        (2, False),
        (3, False),
    ]


async def test_rows_have_who_and_why_and_no_secrets(log: Path) -> None:
    writer = await MetadataLog.open(log)
    config = ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value="x")
    replica = ReplicaDeletionRecord(topic_id=Uuid(bytes(16)), partition_id=7, broker_id=1, state=0)
    origin = Origin(principal="User:ada", command="alter-configs", reason="new key")
    await writer.append(
        NewBatch(records=(config, replica), origin=origin, timestamp=4_102_444_800_000)
    )
    await writer.close()
    reader = stream(log, startingOffset="16")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    hidden, other = rows_of(reader, start, end)
    assert json.loads(hidden["data"])["value"] == "(redacted)"
    assert (hidden["principal"], hidden["command"], hidden["reason"]) == (
        *("User:ada", "alter-configs"),
        "new key",
    )
    assert hidden["time"] == datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
    assert (other["type"], other["topic_id"], other["partition_id"]) == (
        "ReplicaDeletionRecord",
        "A" * 22,
        7,
    )
    shown, _ = rows_of(stream(log, showSecrets="true"), start, end)
    assert json.loads(shown["data"])["value"] == "x"


def test_query_streams_and_reads_a_log(spark: "SparkSession", log: Path, tmp_path: Path) -> None:
    """The same as above through Spark, with limits and restarts; kills are in
    test_stream_kills.py.
    """
    spark.dataSource.register(LogSource)
    reading = spark.readStream.format("metalog").option("maxRecordsPerTrigger", 4)
    rows = restarted(lambda: reading.load(f"file://{log}"))
    writer = rows.writeStream.format("parquet").option("path", str(tmp_path / "sink"))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    # What a query that was killed while it wrote its first position leaves behind.
    left_behind = tmp_path / "checkpoint/offsets/.0.7f1b3d52-6a0e-4a5c-9f0d-2f4c8e1b9a36.tmp"
    left_behind.parent.mkdir(parents=True)
    left_behind.write_bytes(b"v1\n")
    for _ in range(2):
        restarted(lambda: writer.trigger(availableNow=True).start().awaitTermination())
    found = spark.read.parquet(str(tmp_path / "sink")).select("offset").collect()
    assert sorted(row["offset"] for row in found) == offsets(log)
    check_times(next((tmp_path / "sink").glob("*.parquet")))
    batch = spark.read.format("metalog").option("log", str(log)).option("startingOffset", 6)
    assert restarted(lambda: batch.option("endingOffset", 8).load().count()) == 2


def test_archive_in_a_bucket_is_read_by_ranges(log: Path, s3_place: str) -> None:
    with LogReader.open(log) as reader:
        back_up(OsFs(), reader, open_store(s3_place))
    reader = stream(s3_place)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert [row["offset"] for row in rows_of(reader, start, end)] == offsets(log)


def test_a_view_of_sql_reads_a_log_and_a_table_is_refused(spark: "SparkSession", log: Path) -> None:
    spark.dataSource.register(LogSource)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen USING metalog OPTIONS (log '{log}')")
    (row,) = restarted(lambda: spark.sql("SELECT count(*) FROM seen").collect())
    assert row[0] == len(offsets(log))
    spark.catalog.dropTempView("seen")
    with pytest.raises(AnalysisException, match="CREATE TEMPORARY VIEW records USING metalog"):
        spark.sql(f"CREATE TABLE made USING metalog OPTIONS (log '{log}')")
    assert not spark.catalog.tableExists("made")
