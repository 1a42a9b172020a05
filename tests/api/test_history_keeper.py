"""A service keeps the SQL history of its log by itself, in a separate process."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from sqlalchemy import URL

from api.questions.history import ShowHistory
from api.questions.pages import PagedLog
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader
from replay.time_travel.change_index import HISTORY_NAME
from tests.api.conftest import Answer, Metalog
from tests.api.test_snapshot_maker import LONG_S, running_on, serve
from tests.postgres import text_of
from tests.stories.processes import Process, soon


@pytest.fixture
def log(demo_log: Path, tmp_path: Path) -> Path:
    """A log without a SQL history."""
    return Path(shutil.copytree(demo_log, tmp_path / "log"))


def is_synced(log: Path) -> bool:
    """True if the tables end where the log does."""
    if not (log / HISTORY_NAME).exists():
        return False
    with LogReader.open(log) as reader:
        end_offset = reader.end_offset
    with closing(sqlite3.connect(log / HISTORY_NAME)) as connection:
        try:
            found = connection.execute("SELECT end_offset FROM history_position").fetchone()
        except sqlite3.OperationalError:  # no tables yet
            return False
    return bool(found == (end_offset,))


async def test_the_tables_follow_the_log_and_the_child_ends_with_the_service(
    metalog: Metalog, log: Path, started: list[Process]
) -> None:
    service = await serve(log, started, "--sql-history", "default")
    await soon(lambda: is_synced(log), LONG_S)
    created = await asyncio.to_thread(
        metalog,
        *("topics", "create", "late", "--partitions", 2),
        *("--server", f"kafka://{service.ready['kafka']}"),
    )
    assert created.code == 0, created.err
    await soon(lambda: is_synced(log), LONG_S)
    by_sql, by_replay = (
        metalog("digest", log, "--by", way, "--json").json["digest"] for way in ("sql", "replay")
    )
    assert by_sql == by_replay
    assert f"SQL history of {log} is kept up to" in service.errors
    assert await service.stop() == 0
    assert running_on(log) == []


async def test_the_child_of_a_killed_service_ends(log: Path, started: list[Process]) -> None:
    service = await serve(log, started, "--sql-history", "default")
    await soon(lambda: is_synced(log), LONG_S)
    await service.kill()
    await soon(lambda: running_on(log) == [], LONG_S)


async def test_what_keeps_the_history_from_being_kept_is_logged_and_nothing_more(
    log: Path, started: list[Process]
) -> None:
    (log / HISTORY_NAME).write_bytes(b"no database" * 200)
    service = await serve(log, started, "--sql-history", "default")
    await soon(lambda: f"SQL history of {log} is not kept" in service.errors, LONG_S)
    assert "file is not a database" in service.errors
    assert '"code"' not in service.errors
    assert service.is_running
    assert await service.stop() == 0


async def test_a_database_that_is_down_is_logged_once_and_synced_when_it_is_back(
    metalog: Metalog, log: Path, started: list[Process], postgres: URL, postgres_url: URL
) -> None:
    name = postgres_url.database
    service = await serve(log, started, "--sql-history", text_of(postgres_url))
    await soon(lambda: "is kept up to" in service.errors, LONG_S)
    with psycopg.connect(text_of(postgres), autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        await asyncio.to_thread(
            metalog,
            *("topics", "create", "late", "--partitions", 2),
            *("--server", f"kafka://{service.ready['kafka']}"),
        )
        await soon(lambda: "not currently accepting connections" in service.errors, LONG_S)
        kept = service.errors.count("is kept up to")
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    await soon(lambda: service.errors.count("is kept up to") > kept, LONG_S)
    assert service.errors.count("not currently accepting connections") == 1
    assert "is not kept" not in service.errors
    assert await service.stop() == 0


async def test_password_in_an_options_file_is_in_no_process_list(
    log: Path, started: list[Process], postgres_url: URL, tmp_path: Path
) -> None:
    url = text_of(postgres_url)
    login = url.partition("://")[2].partition("@")[0]  # as it is written in the URL
    assert ":" in login
    options = tmp_path / "options.toml"
    options.write_text(f'sql-history = "{url}"\n')
    service = await serve(log, started, "--config", options)
    await soon(lambda: "is kept up to" in service.errors, LONG_S)
    found = running_on(log)
    assert any(" sql sync " in command for command in found)
    assert [command for command in found if login in command] == []
    assert await service.stop() == 0


async def test_questions_are_answered_from_the_tables_in_another_database(
    metalog: Metalog,
    log: Path,
    started: list[Process],
    postgres_url: URL,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A small log is read as fast as the tables.
    monkeypatch.setattr("replay.sql_history.index._RECORDS_PER_SEEK", 1)
    url = text_of(postgres_url)
    service = await serve(log, started, "--sql-history", url)
    server = ("--server", f"kafka://{service.ready['kafka']}")

    async def ask(*command: object) -> Answer:
        found = await asyncio.to_thread(metalog, *command, *server)
        assert found.code == 0, found.err
        return found

    await ask("topics", "create", "asked", "--partitions", 1, "--config", "retention.ms=1")
    await ask("configs", "set", "topic/asked", "retention.ms=2")
    end = (await ask("info", "--json")).json["log_end"]
    await soon(lambda: f"is kept up to {end}" in service.errors, LONG_S)
    assert (await ask("info", "--json")).json["sql_history"]["end_offset"] == end
    assert not (log / HISTORY_NAME).exists()

    plain = _history(log, None)
    assert len(plain) == 2
    assert _history(log, url) == plain
    with psycopg.connect(url, autocommit=True) as tables:
        # With a gap in the tables, an answer shows that it came from them.
        tables.execute("DELETE FROM config_version WHERE resource_name = 'asked' AND value = '2'")
        tables.execute("UPDATE config_version SET valid_to_offset = NULL WHERE value = '1'")
        assert len(_history(log, url)) == 1
        # Those of another log are not used.
        tables.execute("UPDATE history_position SET last_crc32c = last_crc32c - 1")
    assert _history(log, url) == plain
    assert (await ask("info", "--json")).json["sql_history"] is None
    assert "passed over: the SQL history is of another log" in service.errors
    password = postgres_url.password
    assert password is not None and password not in service.errors
    assert await service.stop() == 0


def _history(log: Path, database: str | None) -> list[Any]:
    """Return the answer of a service that keeps its SQL history in this database."""
    request = to_wire(ShowHistory(object="config:topic/asked"))
    page = PagedLog(log).page("history", request, "end", sql_history=database)
    found: list[Any] = msgspec.msgpack.decode(page.payload)
    return found
