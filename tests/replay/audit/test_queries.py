"""The audit queries and the views that they use."""

import base64
import dataclasses
import datetime
import json
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest

from api.cli.main import run
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    NoteRecord,
    UnknownRecord,
)
from records.security import UserScramCredentialRecord
from records.text import parse_uuid, uuid_text
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.log_files import LogFiles, base_offset
from replay.audit.log_frame import open_log
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.loader import load_image
from tests.replay.asked_log import asked_log
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import batches, namespace, topic, uid

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def files(demo_log: Path) -> LogFiles:
    with LogReader.open(demo_log) as reader:
        return committed_files(reader)


def ask(
    spark: "SparkSession", files: LogFiles, name: str, offsets: Range | None = None
) -> "list[Row]":
    with Audit(spark, files) as audit:
        frame = audit.query(QUERIES[name], offsets or Range(0, files.end_offset - 1))
        rows: list[Row] = frame.collect()
    return rows


def rows_of(
    spark: "SparkSession", files: LogFiles, text: str, offsets: Range, *, show_secrets: bool = False
) -> "list[Row]":
    with Audit(spark, files) as audit:
        frame = audit.sql(text, offsets, show_secrets=show_secrets)
        rows: list[Row] = frame.collect()
    return rows


def test_sql_sees_the_log_with_flat_columns(
    spark: "SparkSession", files: LogFiles, demo_log: Path
) -> None:
    query = "SELECT type, count(*) AS n, min(offset) AS first FROM log GROUP BY type"
    counted = rows_of(spark, files, query, Range(0, files.end_offset - 1))
    with LogReader.open(demo_log) as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
    names = [type(row.payload).__name__ for row in rows]
    assert {(r["type"], r["n"], r["first"]) for r in counted} == {
        (name, names.count(name), names.index(name)) for name in set(names)
    }


def test_sql_sees_the_state_at_the_end_of_the_range(
    spark: "SparkSession", files: LogFiles, demo_log: Path
) -> None:
    at = files.end_offset // 2
    with LogReader.open(demo_log) as reader:
        image = load_image(reader, at)
    found = rows_of(spark, files, "SELECT count(*) AS n FROM topics", Range(0, at))
    assert found[0]["n"] == image.topic_count


def test_ids_in_the_state_are_text_also_in_lists(spark: "SparkSession", files: LogFiles) -> None:
    with Audit(spark, files) as audit:
        offsets = Range(0, files.end_offset - 1)
        rows = [
            *audit.sql("SELECT explode(directories) AS id FROM partitions", offsets).collect(),
            *audit.sql("SELECT explode(log_dirs) AS id FROM brokers", offsets).collect(),
        ]
    assert rows
    assert all(uuid_text(parse_uuid(row.id)) == row.id for row in rows)


def test_range_bounds_what_a_query_sees(spark: "SparkSession", files: LogFiles) -> None:
    query = "SELECT min(offset), max(offset) FROM log"
    assert tuple(rows_of(spark, files, query, Range(40, 90))[0]) == (40, 90)


def test_conditions_on_offset_and_time_leave_out_segments(
    spark: "SparkSession", tmp_path: Path
) -> None:
    log = batches(*((topic(f"topic-{n}"),) for n in range(6)))
    times = {batch.base_offset: batch.timestamp for batch in log}
    assert sorted(set(times.values())) == list(times.values()), "each batch has a later time"
    files = dataclasses.replace(
        write_log(tmp_path, log, batches_a_segment=1),
        latest_before={offset: times[offset - 1] for offset in range(1, 6)},
        times_ascend=True,
    )

    def opened(where: str) -> tuple[list[int], int]:
        # One column, since Spark plans all of them for longer than it reads.
        frame = audit.sql(f"SELECT offset FROM log {where}", Range(0, 5))
        found = sorted(base_offset(Path(name)) for name in frame.inputFiles())
        return found, len(frame.collect())

    with Audit(spark, files) as audit:
        assert opened("WHERE offset BETWEEN 2 AND 3") == ([2, 3], 2)
        assert opened("WHERE 4 <= offset OR offset = 3") == ([3, 4, 5], 3)
        assert opened("WHERE type = 'TopicRecord' AND offset > 4 - 1") == ([4, 5], 2)
        assert opened(f"WHERE timestamp >= {times[4]}") == ([4, 5], 2)
        moment = f"timestamp_millis({times[1]})"
        assert opened(f"WHERE time <= {moment}") == ([0, 1, 2], 2)
        twice = "WHERE offset = 1 AND EXISTS (SELECT 1 FROM log AS other WHERE other.offset = 3)"
        assert opened(twice)[1] == 1
        assert opened("WHERE offset * 2 = 4") == ([0, 1, 2, 3, 4, 5], 1)


def test_deletions_say_who_asked_beside_who_did_it(spark: "SparkSession", tmp_path: Path) -> None:
    files = write_log(tmp_path, asked_log())
    with Audit(spark, files) as audit:
        rows = audit.query(QUERIES["deletions"], Range(0, files.end_offset - 1)).collect()
    found = [(r.kind, r.name, r.principal, r.asked_principal, r.asked_reason) for r in rows]
    assert found == [
        ("partitions", "orders/1", "User:broker-1", "User:gus", "gus said so"),
        ("partitions", "orders/2", "User:broker-1", "User:eve", "eve said so"),
        ("topics", "sales", "User:hal", None, None),
    ]


def test_deletions_name_topics_as_they_were_called(spark: "SparkSession", tmp_path: Path) -> None:
    remove = RemoveTopicRecord(topic_id=uid("orders"))
    log = batches(
        (namespace("shop"), topic("orders")),
        (BeginTransactionRecord(), remove, topic("never"), AbortTransactionRecord()),
        (MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("shop"), name="sales"),),
        (remove,),
    )
    files = write_log(tmp_path, log)
    with Audit(spark, files, keep=True) as audit:
        (deletion,) = audit.query(QUERIES["deletions"], Range(0, 7)).collect()
        lives = audit.query(QUERIES["topic-lives"], Range(0, 7)).collect()
        # A life that began before the range counts, one that ended there does not.
        (late,) = audit.query(QUERIES["topic-lives"], Range(7, 7)).collect()
    assert (deletion["offset"], deletion["name"]) == (7, "shop:sales")
    found = [(r["name"], r["from_offset"], r["to_offset"], r["to_record"]) for r in lives]
    assert found == [
        ("orders", 1, 6, "MoveTopicRecord"),
        ("shop:sales", 6, 7, "RemoveTopicRecord"),
    ]
    assert (late["name"], late["from_offset"]) == ("shop:sales", 6)


def test_times_are_utc_wherever_the_machine_stands(
    spark: "SparkSession",
    demo_log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    query = "SELECT time, timestamp, timestamp_ntz'2026-01-01 00:00:00' FROM log LIMIT 1"
    assert run(["audit", "sql", str(demo_log), query, "--json"]) == 0
    ((found, timestamp, without_zone),) = json.loads(capsys.readouterr().out)["rows"]
    assert datetime.datetime.fromisoformat(found).timestamp() * 1_000 == timestamp
    assert without_zone == "2026-01-01T00:00:00Z"
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "query", ["SELECT 1/0", "SELECT CAST('a' AS INT)", "SELECT array(1)[5]", "SELECT nothing"]
)
def test_query_that_fails_is_refused(
    spark: "SparkSession", demo_log: Path, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "sql", str(demo_log), query]) == 3
    assert capsys.readouterr().err.startswith("error: INVALID_REQUEST: ")


SPARK = ("--engine", "spark")


def test_several_queries_are_answered_by_one_command(
    spark: "SparkSession", demo_log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["changes", "who", "leader-churn"]
    assert run(["audit", *names, str(demo_log), *SPARK, "--limit", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["audits"]) == names
    assert all(0 < len(answer["rows"]) <= 3 for answer in document["audits"].values())
    assert run(["audit", "who", "deletions", str(demo_log), *SPARK, "--limit", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], "deletions:" in lines) == ("who:", True)


def test_start_of_spark_is_told_apart_from_the_answer_on_a_terminal(
    spark: "SparkSession",
    demo_log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = ["audit", "sql", str(demo_log), "SELECT 1 AS one"]
    assert run(query) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(query) == 0
    lines = r"Spark started in \d+\.\d s\nanswered by spark in \d+\.\d s\n"
    assert re.fullmatch(lines, capsys.readouterr().err)


def test_answers_are_written_as_parquet(
    spark: "SparkSession", demo_log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, query = tmp_path / "out", "SELECT offset, time FROM log"
    for _ in range(2):
        assert run(["audit", "sql", str(demo_log), query, "--to", str(out), "--limit", "1"]) == 0
    with LogReader.open(demo_log) as reader:
        assert capsys.readouterr().out.splitlines()[-1] == (
            f"{out / 'sql.parquet'}: {reader.end_offset:,} rows"
        )
        table = pyarrow.parquet.read_table(out / "sql.parquet")
        assert sorted(table["offset"].to_pylist()) == list(range(reader.end_offset))
        assert table["time"][0].as_py().tzinfo is not None
    assert run(["audit", "sql", str(demo_log), query, "--to", str(demo_log)]) == 3
    assert "is a log; name another directory" in capsys.readouterr().err


async def test_log_that_is_being_written_is_read_up_to_its_mark(
    spark: "SparkSession", tmp_path: Path
) -> None:
    create_log(tmp_path / "log", "test-cluster")
    log = await MetadataLog.open(tmp_path / "log")
    for n in range(5):
        await log.append(NewBatch(records=(NoteRecord(at_offset=n, author="ada", text="x"),)))
    torn = tmp_path / "torn"
    shutil.copytree(tmp_path / "log", torn)
    await log.close()
    with next(torn.glob("*.avro")).open("ab") as segment:
        segment.write(b"half a block")
    with LogReader.open(torn) as reader:
        copy = tmp_path / "copy"
        copy.mkdir()
        frozen = committed_files(reader).frozen(copy)
        counted = rows_of(spark, frozen, "SELECT count(*) AS n FROM log", Range(0, 5))
        assert counted[0]["n"] == reader.end_offset == 6


@pytest.fixture
async def secrets(tmp_path: Path) -> LogFiles:
    """A log with one secret of each kind, and a config that is not a secret."""
    create_log(tmp_path / "log", "test-cluster")
    log = await MetadataLog.open(tmp_path / "log")
    scram = UserScramCredentialRecord(
        name="ada",
        mechanism=1,
        salt=b"pepper",
        stored_key=b"key-1",
        server_key=b"key-2",
        iterations=4_096,
    )
    configs = [
        ConfigRecord(resource_type=4, resource_name="1", name=name, value=value)
        for name, value in (("ssl.key.password", "hush"), ("num.partitions", "3"))
    ]
    future = UnknownRecord(api_key=11, record_version=7, value=b"key-3")
    await log.append(NewBatch(records=(scram, *configs, future)))
    await log.close()
    with LogReader.open(tmp_path / "log") as reader:
        return committed_files(reader)


SECRET_QUERIES = (
    "SELECT payload.member_UserScramCredentialRecord.salt FROM log WHERE offset = 1",
    "SELECT server_key FROM scram",
    "SELECT payload.member_ConfigRecord.value FROM log WHERE offset = 2",
    "SELECT value FROM configs WHERE name = 'ssl.key.password'",
    "SELECT payload.member_UnknownRecord.value FROM log WHERE offset = 4",
)


def test_sql_shows_secrets_only_when_asked(spark: "SparkSession", secrets: LogFiles) -> None:
    offsets = Range(0, 4)
    shown = [rows_of(spark, secrets, q, offsets)[0][0] for q in SECRET_QUERIES]
    assert shown == ["(redacted)"] * 5
    asked = [rows_of(spark, secrets, q, offsets, show_secrets=True)[0][0] for q in SECRET_QUERIES]
    assert asked == [b"pepper", b"key-2", "hush", "hush", b"key-3"]
    public = "SELECT value FROM configs WHERE name = 'num.partitions'"
    assert rows_of(spark, secrets, public, offsets)[0][0] == "3"


def test_frame_of_a_log_shows_secrets_only_when_asked(
    spark: "SparkSession", secrets: LogFiles, tmp_path: Path
) -> None:
    files = secrets.frozen(tmp_path / "scratch")
    hidden, shown = open_log(spark, files), open_log(spark, files, show_secrets=True)
    values = [
        "payload.member_UserScramCredentialRecord.salt",
        "payload.member_UserScramCredentialRecord.stored_key",
        "payload.member_UserScramCredentialRecord.server_key",
        "payload.member_ConfigRecord.value",
        "payload.member_UnknownRecord.value",
    ]
    for value, secret in zip(
        values, (b"pepper", b"key-1", b"key-2", "hush", b"key-3"), strict=True
    ):
        assert [row[0] for row in shown.select(value).collect()].count(secret) == 1
    text = "\n".join([row[0] for row in hidden.selectExpr("to_json(struct(*))").collect()])
    # Bytes are base64 in JSON.
    for secret in (b"pepper", b"key-1", b"key-2", b"hush", b"key-3"):
        assert base64.b64encode(secret).decode() not in text
        assert secret.decode() not in text
    assert text.count("(redacted)") == len(values)
    assert '"value":"3"' in text
    assert "extra" not in hidden.columns
