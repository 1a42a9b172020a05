"""Each question of docs/auditors_questions.md has one answer, however it is asked."""

import asyncio
import datetime
import json
import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from sqlalchemy import URL

from api.cli.main import run
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from replay import audit
from tests.browser import apart
from tests.postgres import new_database, text_of
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit.questions.conftest import TOPIC
from tests.replay.audit.questions.events import Asked, id_text, lives, read
from tests.replay.audit.questions.logs import end_of, export_changes, imported
from tests.replay.audit.questions.more_oracle import unavailability_of_a_team
from tests.replay.audit.questions.oracle import ORACLE
from tests.replay.planned_removal import SHRUNK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENT = Path(__file__).parents[4] / "docs" / "auditors_questions.md"
REAL = {
    "log4j2-migration-removetopic/data": False,
    "ogs59-3node-history/data_kafka-2": False,
    "indus-rig-removetopic-snapshots/kafka-data": True,  # the only one with an unclean election
}
"""The real logs, and which of them is asked about in `make test`."""


class Question(NamedTuple):
    """A question with its four forms."""

    number: int
    command: str
    postgresql: str
    duckdb: str
    frame: str


def questions() -> Iterator[Question]:
    sections = re.split(r"^## (?=\d+\. )", DOCUMENT.read_text("utf-8"), flags=re.MULTILINE)[1:]
    for section in sections:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        assert [language for language, _ in blocks] == ["sh", "sql", "sql", "python"], section
        texts = [text for _, text in blocks]
        assert texts[1].startswith("-- PostgreSQL") and texts[2].startswith("-- DuckDB")
        yield Question(int(section.partition(".")[0]), *texts)


def test_each_question_has_an_oracle() -> None:
    assert [each.number for each in questions()] == list(range(1, len(ORACLE) + 1))


@each_data_set_where(lambda each: str(each) in REAL, is_heavy=lambda each: not REAL[str(each)])
def test_answers_about_a_real_log(
    postgres: URL, tmp_path: Path, data_set: DataSet, capsys: pytest.CaptureFixture[str]
) -> None:
    log = imported(data_set, tmp_path)
    export_changes(log, tmp_path / "changes")
    answered = compare(log, end_of(log) // 3, tmp_path / "changes", postgres, capsys)
    assert answered >= {2, 6, 7, 26, 28, 29, 30}


@pytest.mark.spark
@each_data_set_where(lambda each: str(each) in REAL, is_heavy=lambda each: True)
def test_answers_about_a_real_log_with_spark(
    spark: "SparkSession",
    postgres: URL,
    tmp_path: Path,
    data_set: DataSet,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log, changes = imported(data_set, tmp_path), tmp_path / "changes"
    with audit.open(log) as opened:
        opened.export(changes, include_unconfirmed=True)
        assert compare(log, end_of(log) // 3, changes, postgres, capsys, opened)


def test_answers_about_an_own_log(
    own_log: tuple[Path, int], postgres: URL, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, point = own_log
    export_changes(log, tmp_path / "changes")
    # The others are asked about the real log, and all with Spark.
    few = {3, 4, 8, 9, 10, 15, 18, 20, 21, 22, 24, 27, 30}
    assert compare(log, point, tmp_path / "changes", postgres, capsys, only=few) == few


@pytest.mark.spark
@pytest.mark.heavy
def test_answers_about_an_own_log_with_spark(
    spark: "SparkSession",
    own_log: tuple[Path, int],
    postgres: URL,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log, point = own_log
    with audit.open(log) as opened:
        opened.export(tmp_path / "changes", include_unconfirmed=True)
        answered = compare(log, point, tmp_path / "changes", postgres, capsys, opened)
    assert answered >= {*range(1, 31)} - {6, 14, 23, 25}


@pytest.mark.spark
def test_a_planned_removal_is_no_outage_however_it_is_asked(
    spark: "SparkSession", postgres: URL, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, changes, asked = tmp_path / "log", tmp_path / "changes", {6, 14, 23}
    apart(asyncio.run, _write_shrunk(log))
    export_changes(log, changes)
    with audit.open(log) as opened:
        assert compare(log, 6, changes, postgres, capsys, opened, only=asked) == asked


_LATER_MS = 4_102_444_800_000
"""The year 2100."""


async def _write_shrunk(folder: Path) -> None:
    create_log(folder, "shrunk")
    log = await MetadataLog.open(folder)
    for number, records in enumerate(SHRUNK):
        # After the log's creation, because times never go back.
        await log.append(NewBatch(records=records, timestamp=_LATER_MS + 1_000 * number))
    await log.close()


def team_of(log: Path, point: int) -> str:
    """Return the begin of the name of a topic that was without a leader; TOPIC if there is none."""
    asked = read(log, point, TOPIC, "")
    names = {id_text(topic_id): name.rpartition(":")[2] for name, topic_id, _, _ in lives(asked)}
    return next((names[id_][:3] for id_, _ in unavailability_of_a_team(asked)), TOPIC)


def compare(
    log: Path,
    point: int,
    changes: Path,
    postgres: URL,
    capsys: pytest.CaptureFixture[str],
    opened: audit.AuditedLog | None = None,
    only: Collection[int] = range(1, len(ORACLE) + 1),
) -> set[int]:
    """Compare all answers to each question; return the questions whose answers have rows.

    Args:
        point: The offset POINT.
        opened: Answers with data frames; None: that form is left out.
        only: The numbers of the questions to ask.
    """
    asked = read(log, point, TOPIC, team_of(log, point))
    answered = set()
    with new_database(postgres) as url:
        synced = ["sql", "sync", str(log), "--database", text_of(url), "--include-unconfirmed"]
        assert run(synced) == 0
        for question in (each for each in questions() if each.number in only):
            expected = sorted(map(repr, ORACLE[question.number - 1](asked)))
            for form, rows in _answers(question, asked, log, changes, url, opened, capsys):
                assert sorted(map(repr, rows)) == expected, (question.number, form)
            if expected:
                answered.add(question.number)
    return answered


def _answers(
    question: Question,
    asked: Asked,
    log: Path,
    changes: Path,
    url: URL,
    opened: audit.AuditedLog | None,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield the name and the rows of each answer, with the columns that PostgreSQL gives."""
    words = {"LOG": str(log), "CHANGES": str(changes), "TOPIC": TOPIC, "TEAM": asked.team}
    words |= {"POINT": str(asked.point), "START": _time(asked.start_ms), "END": _time(asked.end_ms)}

    def filled(text: str) -> str:
        return re.sub(rf"\b({'|'.join(words)})\b(?!\()", lambda word: words[word[0]], text)

    columns, rows = _of_postgresql(url, filled(question.postgresql))
    yield "postgresql", rows
    yield "duckdb", _of_duckdb(filled(question.duckdb), columns)
    capsys.readouterr()
    assert run([*shlex.split(filled(question.command))[1:], "--json", "--limit", "100000"]) == 0
    document = json.loads(capsys.readouterr().out)
    places = [document["columns"].index(name) for name in columns]
    yield "command", [tuple(row[place] for place in places) for row in document["rows"]]
    if opened is not None:
        frame = eval(filled(question.frame), {"log": opened})
        yield "frame", [tuple(row) for row in frame.select(*columns).collect()]


def _time(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1_000, datetime.UTC).isoformat()


def _of_postgresql(url: URL, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    from sqlalchemy import create_engine

    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            found = connection.exec_driver_sql(query)
            return list(found.keys()), [_plain(row) for row in found]
    finally:
        engine.dispose()


def _of_duckdb(query: str, columns: list[str]) -> list[tuple[Any, ...]]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Kolkata'")
        found = connection.execute(query)
        names = [each[0] for each in found.description or ()]
        assert sorted(names) == sorted(columns)
        places = [names.index(name) for name in columns]
        return [_plain(row[place] for place in places) for row in found.fetchall()]


def _plain(row: Any) -> tuple[Any, ...]:
    """Return a row with decimal numbers, which sums are, as integers."""
    return tuple(int(each) if type(each).__name__ == "Decimal" else each for each in row)
