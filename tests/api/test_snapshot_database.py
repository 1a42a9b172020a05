"""Snapshots in a database that an option names: stored there, and used by every command that
replays.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, update

from replay.snapshot.database import open_database, writing
from replay.snapshot.tables import snapshot_chunk
from replay.sql_history import index
from replay.sql_history.server import HistoryDatabase
from replay.time_travel.change_index import FoundChanges
from tests.api.conftest import Metalog
from tests.postgres import text_of

READERS = (
    ("image", "--at", "300"),
    ("diff", "300", "end"),
    ("history", "broker:1"),
    ("blame", "broker:1"),
    ("digest", "--by", "snapshot", "--at", "300"),
    ("outages",),
)


@pytest.fixture
def log(demo_log: Path, tmp_path: Path) -> Path:
    """A log without snapshots of its own."""
    copy = tmp_path / "log"
    shutil.copytree(demo_log, copy, ignore=shutil.ignore_patterns("snapshots.db*"))
    return copy


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/elsewhere.db"
    return text_of(request.getfixturevalue("postgres_url"))


def test_snapshots_are_made_listed_shown_and_pruned_there(
    metalog: Metalog, log: Path, database: str
) -> None:
    named = ("--database", database)
    made = metalog("snapshot", "create", log, "--at", 200, *named, "--json").json
    metalog("snapshot", "create", log, *named)
    listed = metalog("snapshot", "list", log, *named, "--json").json["snapshots"]
    assert listed[0]["digest"] == made["digest"]
    shown = metalog("snapshot", "show", log, listed[0]["end_offset"], *named, "--json").json
    assert shown["digest"] == made["digest"]
    pruned = metalog("snapshot", "prune", log, "--keep", 1, *named, "--json").json
    assert (pruned["deleted"], pruned["left"]) == (1, 1)
    assert not list(log.glob("snapshots.db*"))


@pytest.mark.parametrize("verb", READERS, ids=lambda verb: verb[0])
def test_answers_are_those_without_it(
    metalog: Metalog, log: Path, database: str, verb: tuple[str, ...]
) -> None:
    metalog("snapshot", "create", log, "--at", 250, "--database", database)
    name, *options = verb
    without = [each if each != "snapshot" else "replay" for each in options]
    expected = metalog(name, log, *without, "--json")
    found = metalog(name, log, *options, "--database", database, "--json")
    assert expected.code == 0
    assert found.out.replace('"by": "snapshot"', '"by": "replay"') == expected.out


LISTS = (
    *("topics list", "topics describe", "topics lives __consumer_offsets", "namespaces list"),
    *("partitions list", "partitions states", "brokers list", "configs describe cluster"),
    *("features describe", "users list", "quotas describe", "acls list", "tokens describe"),
    *("notes list", "subscriptions list", "reassignments list"),
)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_lists_and_descriptions_start_from_it(
    metalog: Metalog, log: Path, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    metalog("snapshot", "create", log, "--at", 250, "--database", database)
    expected = [metalog(*verb.split(), "--log", log, "--at", 300, "--json") for verb in LISTS]
    named = ("--log", log, "--at", 300, "--database", database, "--json")
    assert [metalog(*verb.split(), *named) for verb in LISTS] == expected
    assert [(verb, each.err) for verb, each in zip(LISTS, expected, strict=True) if each.code] == []
    engine = open_database(database)
    with writing(engine) as connection:
        connection.execute(update(snapshot_chunk).values(content=b""))
    engine.dispose()
    for verb in ("topics list", "brokers list", "acls list"):
        caplog.clear()
        assert metalog(*verb.split(), *named).code == 0
        assert "snapshot passed over: snapshot at end offset 251" in caplog.text


def test_image_starts_from_it(
    metalog: Metalog, log: Path, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    metalog("snapshot", "create", log, "--at", 250, "--database", database)
    engine = open_database(database)
    with writing(engine) as connection:
        connection.execute(update(snapshot_chunk).values(content=b""))
    engine.dispose()
    assert metalog("image", log, "--database", database).code == 0
    assert "snapshot passed over: snapshot at end offset 251" in caplog.text


def test_database_without_tables_is_refused_with_the_command_to_run(
    metalog: Metalog, log: Path, postgres_url: URL
) -> None:
    answer = metalog("image", log, "--database", text_of(postgres_url))
    assert answer.code == 3
    assert answer.err.startswith("error: SNAPSHOT_NOT_FOUND: ")
    assert "metalog snapshot create" in answer.err


@pytest.mark.parametrize(
    ("wrong", "code", "says"),
    [
        ({"port": 1}, 4, "Connection refused; try again"),
        ({"password": "a/wrong:one"}, 3, "password authentication failed"),
        ({"database": "no_such"}, 3, 'database "no_such" does not exist'),
    ],
)
def test_server_that_does_not_answer_is_one_line_without_the_password(
    metalog: Metalog, log: Path, postgres: URL, wrong: dict[str, str], code: int, says: str
) -> None:
    url = postgres.set(**wrong)  # type: ignore[arg-type]
    for verb in (("image", log), ("snapshot", "list", log), ("snapshot", "create", log)):
        answer = metalog(*verb, "--database", text_of(url))
        assert answer.code == code
        assert says in answer.err
        assert str(url.password) not in answer.err
        assert len(answer.err.splitlines()) == 1


def test_driver_that_is_not_installed_names_the_extra(
    metalog: Metalog, log: Path, postgres: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    answer = metalog("image", log, "--database", text_of(postgres))
    assert answer.code == 3
    assert "pip install 'metadata-log[postgres]'" in answer.err


def test_service_is_asked_without_a_database(metalog: Metalog) -> None:
    answer = metalog("image", "--server", "kafka://127.0.0.1:1", "--database", "sqlite:////x")
    assert answer.code == 2
    assert "--database needs a log" in answer.err


def test_the_sql_history_there_is_used(
    metalog: Metalog, log: Path, postgres_url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = list[bool]()
    changes_of = HistoryDatabase.changes_of

    def counted(self: HistoryDatabase, *of: Any) -> FoundChanges | None:
        found = changes_of(self, *of)
        used.append(found is not None)
        return found

    monkeypatch.setattr(HistoryDatabase, "changes_of", counted)
    monkeypatch.setattr(index, "_RECORDS_PER_SEEK", 1)  # use the tables of a small log, too
    named = ("--database", text_of(postgres_url))
    metalog("snapshot", "create", log, "--at", 250, *named)
    expected = metalog("history", log, "broker:1", "--json").out
    assert metalog("history", log, "broker:1", "--json", *named).out == expected
    assert not any(used)
    metalog("sql", "sync", log, *named)
    assert metalog("history", log, "broker:1", "--json", *named).out == expected
    assert any(used)
