"""`metalog sql sync`, and plain SQL on the tables that it fills."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine

from benchmarks.generate_kraft import generate
from tests.api.conftest import Metalog
from tests.postgres import text_of
from tests.sql_document import (
    DOCUMENT,
    answered,
    demo_history,
    for_postgresql,
    sqlite_answers,
)


@pytest.fixture
def history(demo_log: Path, metalog: Metalog, tmp_path: Path) -> Path:
    """The history of the demo's log."""
    path = tmp_path / "history.db"
    found = metalog("sql", "sync", str(demo_log), "--database", f"sqlite:///{path}", "--json").json
    assert found["from"] == 0
    assert found["to"] == found["log_end"] == found["as_of"] + 1
    assert found["changes"] > 0
    return path


def test_a_person_with_sqlite_reads_the_past(
    history: Path, demo_log: Path, metalog: Metalog
) -> None:
    at = 300
    image = metalog("image", str(demo_log), "--at", str(at), "--part", "partitions", "--json").json
    with sqlite3.connect(f"file:{history}?mode=ro", uri=True) as connection:
        (count,) = connection.execute(
            "SELECT COUNT(*) FROM partition_version WHERE valid_from_offset <= :at "
            "AND (valid_to_offset IS NULL OR valid_to_offset > :at)",
            {"at": at},
        ).fetchone()
    assert count == len(image["parts"]["partitions"]) > 0


def test_digest_by_sql_is_that_of_replay(history: Path, demo_log: Path, metalog: Metalog) -> None:
    for at in ("end", "300", "start"):
        by_sql = ["--by", "sql", "--database", f"sqlite:///{history}"]
        answers = [
            metalog("digest", str(demo_log), "--at", at, "--json", *by).json for by in ([], by_sql)
        ]
        assert answers[0]["digest"] == answers[1]["digest"]
        assert answers[1]["by"] == "sql"


def test_another_log_is_refused(history: Path, metalog: Metalog, tmp_path: Path) -> None:
    other = tmp_path / "other"
    metalog("init", str(other))
    answer = metalog("sql", "sync", str(other), "--database", f"sqlite:///{history}")
    assert answer.code == 3
    assert answer.err.startswith("error: WRONG_LOG: ")


def test_without_tables_the_command_that_makes_them_is_named(
    demo_log: Path, metalog: Metalog, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/none.db"
    answer = metalog("digest", str(demo_log), "--by", "sql", "--database", database)
    assert answer.code == 3
    assert "HISTORY_NOT_FOUND" in answer.err
    assert "metalog sql sync" in answer.err


def test_snapshots_and_history_never_share_a_file(
    history: Path, demo_log: Path, metalog: Metalog, tmp_path: Path
) -> None:
    snapshots = tmp_path / "snapshots.db"
    metalog("snapshot", "create", demo_log, "--database", f"sqlite:///{snapshots}", "--json")
    for command, path in ((["sql", "sync"], snapshots), (["snapshot", "create"], history)):
        before = path.read_bytes()
        answer = metalog(*command, demo_log, "--database", f"sqlite:///{path}")
        assert answer.code == 3
        assert "snapshots and history need a file each" in answer.err
        assert path.read_bytes() == before


def test_what_kafka_may_still_replace_is_left_out_and_named(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "mirror"
    metalog("import", "kraft", generate(tmp_path / "kraft", records=100), log)
    synced = metalog("sql", "sync", log)
    assert "0 changes from offset 0 up to 0" in synced.out
    assert "left out: Kafka may still replace offsets 0 to 99" in synced.out
    answer = metalog("digest", log, "--by", "sql", "--at", "end")
    assert answer.code == 3
    assert "`--by replay`" in answer.err
    assert "sql sync" not in answer.err


def test_what_kafka_may_still_replace_is_added_on_request(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "mirror"
    metalog("import", "kraft", generate(tmp_path / "kraft", records=100), log)
    synced = metalog("sql", "sync", log, "--include-unconfirmed")
    assert "0 up to 0 (exclusive)" in synced.out
    assert "up to 100 (exclusive), not confirmed: Kafka may still replace" in synced.out
    found = metalog("sql", "sync", log, "--include-unconfirmed", "--json").json
    assert (found["to"], found["unconfirmed_to"], found["changes"]) == (0, 100, 0)
    digests = [metalog("digest", log, "--json", *by).json["digest"] for by in ([], ["--by", "sql"])]
    assert digests[0] == digests[1]


def test_the_document_shows_what_its_queries_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DOCUMENT.read_text("utf-8")
    assert text.count("```sql\n") == text.count("```text\n") == 10
    ask = sqlite_answers(demo_history(tmp_path) / "history.db")
    assert answered(text, ask) == text


def test_postgresql_answers_the_document_s_queries_as_sqlite_does(
    tmp_path: Path, postgres_url: URL, capsys: pytest.CaptureFixture[str]
) -> None:
    demo_history(tmp_path, "--database", text_of(postgres_url))
    assert "not:to@be/seen" not in capsys.readouterr().out
    engine = create_engine(postgres_url.set(drivername="postgresql+psycopg"))

    def ask(query: str) -> tuple[list[str], list[Sequence[Any]]]:
        with engine.connect() as connection:
            found = connection.exec_driver_sql(for_postgresql(query).replace("%", "%%"))
            return list(found.keys()), list(found)

    text = DOCUMENT.read_text("utf-8")
    assert answered(text, ask) == text
    engine.dispose()


def test_digest_by_postgresql_is_that_of_replay(
    demo_log: Path, metalog: Metalog, postgres_url: URL
) -> None:
    database = ["--database", text_of(postgres_url)]
    assert metalog("sql", "sync", demo_log, *database).code == 0
    for at in ("end", "300", "start"):
        by_sql, by_replay = (
            metalog("digest", demo_log, "--at", at, "--json", *by).json["digest"]
            for by in (["--by", "sql", *database], [])
        )
        assert by_sql == by_replay


def test_a_damaged_database_is_named_with_the_command_that_makes_it_anew(
    history: Path, demo_log: Path, metalog: Metalog
) -> None:
    history.write_bytes(b"no database")
    database = ["--database", f"sqlite:///{history}"]
    for command in (["sql", "sync", str(demo_log)], ["digest", str(demo_log), "--by", "sql"]):
        answer = metalog(*command, *database)
        assert answer.code == 5
        assert answer.err.count("\n") == 1
        assert answer.err.endswith("move the file away and make it anew with `metalog sql sync`\n")
