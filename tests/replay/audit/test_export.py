"""Exports of changes: each change is exported once, whichever run died at whatever time."""

import itertools
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from api.cli.main import run
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror import MirrorBuilder
from records.base import Record
from records.configs import ConfigRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError, UnavailableError, UnknownHistoryError
from replay.audit.changes import COLUMNS, relation
from replay.audit.committed_files import committed_files, readable_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.export import Exported, export_changes
from replay.audit.export_targets import ExportDirectory, Watermark, open_target
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.queries.asking import Range
from replay.audit.relations import SCHEMA
from replay.care.retain import retain
from tests.failing_fs import FailingFs
from tests.replay.audit.parquet_times import check_times
from tests.replay.audit.staged import exported
from tests.replay.builders import batches, change, partition, topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DAY_MS = 86_400_000


def config(name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name="1", name=name, value=value)


async def append(log: MetadataLog, day: int, *records: Record) -> None:
    await log.append(NewBatch(records=records, timestamp=day * DAY_MS))


@contextmanager
def opened(spark: "SparkSession", log: Path, scratch: Path) -> Iterator[tuple[Any, LogFiles]]:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    with LogReader.open(log) as reader:
        yield spark, readable_files(reader, scratch, lambda path, size: None)


def documented(language: str, location: Path, number: int = 0) -> str:
    """Return an example of a language in docs/export.md, for a location."""
    text = (Path(__file__).parents[3] / "docs" / "export.md").read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[number]
    return str(found).replace("LOCATION", str(location))


def rows(location: Path) -> list[dict[str, Any]]:
    """Return the rows that pyarrow reads from a location."""
    names: dict[str, Any] = {}
    exec(documented("python", location), names)
    listed: list[dict[str, Any]] = names["changes"].to_pylist()
    return listed


def keys(found: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (row["offset"], row["kind"], row["id"], row["field"], row["before"], row["after"])
        for row in found
    )


async def test_each_run_adds_what_is_new_and_settled(spark: "SparkSession", tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    create_log(log, "test-cluster")

    def run() -> Exported:
        with LogReader.open(log) as reader:
            return export_changes(
                reader, f"file://{out}", lambda: opened(spark, log, tmp_path / "scratch")
            )

    writer = await MetadataLog.open(log)
    await append(writer, 40_000, topic("orders"), partition("orders", 0))
    await append(writer, 40_001, config("log.retention.ms", "1"), config("secret", "hidden"))
    await append(writer, 40_001, BeginTransactionRecord(name="t"))
    await append(writer, 40_001, config("log.retention.ms", "2"))
    first = run()
    # Up to the transaction: it is still open.
    assert (first.from_offset, first.to_offset, first.files) == (0, 5, 2)
    assert run() == Exported(from_offset=5, to_offset=5, files=0, rows=0)
    await append(writer, 40_001, EndTransactionRecord())
    await append(writer, 40_002, change("orders", 0, leader=2), config("log.retention.ms", "3"))
    await writer.close()
    second = run()
    assert (second.from_offset, second.to_offset, second.files) == (5, 10, 2)

    found = rows(out)
    assert len(found) == first.rows + second.rows
    assert {name for row in found for name in row} == {*SCHEMA, "day", "confirmed"}
    assert {row["day"] for row in found} == {"2079-07-08", "2079-07-09", "2079-07-10"}
    assert all(str(row["time"].date()) == row["day"] for row in found)
    assert {row["after"] for row in found if row["field"] == "secret"} == {"(redacted)"}
    with (
        opened(spark, log, tmp_path / "scratch") as (_, files),
        History(spark, files, 9, columns=COLUMNS) as history,
    ):
        at_once = [row.asDict() for row in relation(history, "changes").collect()]
    assert keys(found) == keys(at_once)

    import duckdb  # See tests/forked_workers.py.

    counted = duckdb.sql(documented("sql", out)).fetchall()
    check_state_at(out, log)
    by_day = Counter((row["day"], row["kind"]) for row in found)
    assert {(str(day), kind): count for day, kind, count in counted} == by_day

    with pytest.raises(RequestError, match="was exported without secrets"):
        _nothing_to_do(log, out, show_secrets=True)
    retain(log, 9, check_dropped=lambda segments: None)
    _nothing_to_do(log, out)


def check_state_at(out: Path, log: Path) -> None:
    """Compare what the documented macro returns with the net changes up to some offsets."""
    import duckdb

    macro, question = documented("sql", out, 1).split(";\n", 1)
    with duckdb.connect() as connection, LogReader.open(log) as reader:
        connection.execute(macro)
        with DuckAudit(committed_files(reader)) as audit:
            for at in (1, 3, 7, 9):
                found = connection.execute(f"SELECT * FROM state_at({at})").fetchall()
                state = audit.view("net_changes", Range(0, at)).to_pylist()
                names = ("kind", "id", "name", "field", "after")
                expected = [tuple(row[name] for name in names) for row in state]
                assert sorted(found) == sorted(expected), at
        asked = question.replace("300", "9").strip().rstrip(";")
        assert connection.execute(asked).fetchall() == [("orders/0", "2")]


def _nothing_to_do(log: Path, out: Path, *, show_secrets: bool = False) -> None:
    def never() -> Any:
        raise AssertionError("Spark is not needed")

    with LogReader.open(log) as reader:
        done = export_changes(reader, str(out), never, show_secrets=show_secrets)
        assert done.files == 0


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log", "test-cluster")
    writer = await MetadataLog.open(tmp_path / "log")
    for number in range(4):
        await append(writer, 40_000, config("log.retention.ms", str(number)))
    await writer.close()
    return tmp_path / "log"


async def test_run_that_died_anywhere_is_made_good_by_the_next(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fail_at in itertools.count():
        out, fs = tmp_path / f"out-{fail_at}", FailingFs(fail_at)
        try:
            exported(log, out, monkeypatch, fs)
        except OSError:
            exported(log, out, monkeypatch)
        else:
            break
        assert sorted(row["offset"] for row in rows(out)) == [1, 2, 3, 4]
    assert fail_at > 20


async def test_next_run_removes_what_another_end_left(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run after a killed one may export up to a later offset: its files have other names."""
    out = tmp_path / "out"

    def dies(folder: ExportDirectory, watermark: Watermark) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(ExportDirectory, "advance", dies)
        with pytest.raises(KeyboardInterrupt):
            exported(log, out, dying)
    assert sorted(row["offset"] for row in rows(out)) == [1, 2, 3, 4]
    writer = await MetadataLog.open(log)
    await append(writer, 40_001, config("log.retention.ms", "9"))
    await writer.close()
    assert exported(log, out, monkeypatch).to_offset == 7
    assert sorted(row["offset"] for row in rows(out)) == [1, 2, 3, 4, 5, 6]


def test_records_that_kafka_may_still_replace_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
        for each in batches([topic("orders")], [partition("orders", 0)]):
            builder.append(each.rows, each.end_offset)
        builder.finish(0)
    assert run(["audit", "export", str(tmp_path / "log"), "--to", str(tmp_path / "out")]) == 0
    assert "left out: Kafka may still replace offsets 0 to 1," in capsys.readouterr().out


def mirror_of(directory: Path, values: list[str], confirmed_end: int) -> Path:
    """Make a mirror with one config record each, a day apart."""
    with MirrorBuilder(directory, "kafka-cluster") as builder:
        for number, each in enumerate(batches(*([config("retention.ms", v)] for v in values))):
            day_ms = (40_000 + number) * DAY_MS
            builder.append([msgspec.structs.replace(r, timestamp=day_ms) for r in each.rows],
                           each.end_offset)  # fmt: skip
        builder.finish(confirmed_end)
    return directory


def test_what_kafka_may_still_replace_is_marked_and_replaced_by_the_next_run(
    spark: "SparkSession", tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def run(log: Path, *, include_unconfirmed: bool) -> Exported:
        with LogReader.open(log) as reader:
            return export_changes(
                reader,
                str(out),
                lambda: opened(spark, log, tmp_path / "scratch"),
                include_unconfirmed=include_unconfirmed,
            )

    def found() -> list[tuple[Any, ...]]:
        return sorted((row["offset"], row["after"], row["confirmed"]) for row in rows(out))

    before = mirror_of(tmp_path / "before", ["1", "2", "3", "4"], confirmed_end=2)
    done = run(before, include_unconfirmed=True)
    assert (done.to_offset, done.rows, done.unconfirmed_rows) == (2, 2, 2)
    sure, unsure = [(0, "1", True), (1, "2", True)], [(2, "3", False), (3, "4", False)]
    assert found() == sure + unsure
    run(before, include_unconfirmed=True)
    assert found() == sure + unsure
    run(before, include_unconfirmed=False)
    assert found() == sure
    run(before, include_unconfirmed=True)

    # Kafka replaced the end, and confirmed a part of what it has now.
    after = mirror_of(tmp_path / "after", ["1", "2", "5", "6", "7"], confirmed_end=4)
    done = run(after, include_unconfirmed=True)
    assert (done.from_offset, done.to_offset, done.rows, done.unconfirmed_rows) == (2, 4, 2, 1)
    assert found() == [*sure, (2, "5", True), (3, "6", True), (4, "7", False)]


def test_unconfirmed_changes_are_not_exported_to_a_bucket(tmp_path: Path, s3_place: str) -> None:
    log = mirror_of(tmp_path / "log", ["1", "2"], confirmed_end=1)
    with (
        LogReader.open(log) as reader,
        pytest.raises(RequestError, match="a bucket, which has no lock"),
    ):
        export_changes(
            reader,
            s3_place,
            lambda: opened(None, log, tmp_path / "scratch"),
            include_unconfirmed=True,
        )


def test_location_of_another_log_is_refused(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    exported(log, out, monkeypatch)
    create_log(tmp_path / "other", "other-cluster")
    with pytest.raises(RequestError, match="what was read before is of test-cluster"):
        exported(tmp_path / "other", out, monkeypatch)
    refusals = {
        str(log): "is a log; name another place for the export",
        "hdfs://host/place": "write a path, or s3://bucket/prefix",
        "": "the path is empty",
    }
    for location, refusal in refusals.items():
        with LogReader.open(log) as reader, pytest.raises(RequestError, match=refusal):
            export_changes(reader, location, lambda: opened(None, log, tmp_path / "scratch"))


def test_two_exports_at_once_are_refused(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    exported(log, out, monkeypatch)
    with open_target(str(out)), pytest.raises(UnavailableError, match="is being written by"):
        exported(log, out, monkeypatch)


async def test_history_that_was_cut_below_the_watermark_is_named(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    exported(log, out, monkeypatch)
    for number in range(3):
        writer = await MetadataLog.open(log)
        await append(writer, 40_001, config("log.retention.ms", f"1{number}"))
        await writer.close()
    retain(log, 9, check_dropped=lambda segments: None)
    with pytest.raises(UnknownHistoryError, match=r"ends at 5, and the log starts at \d+"):
        exported(log, out, monkeypatch)


async def test_times_are_instants_for_every_reader(spark: "SparkSession", tmp_path: Path) -> None:
    """With a zone, and of the type that Arrow, DuckDB and Iceberg read as an instant."""
    log, place = tmp_path / "log", tmp_path / "out"
    create_log(log, "test-cluster")
    async with await MetadataLog.open(log) as writer:
        for day in range(2):
            await append(writer, day, config("log.retention.ms", str(day)))
    assert run(["audit", "export", str(log), "--to", str(place)]) == 0
    check_times(next(place.glob("day=*/*.parquet")))
