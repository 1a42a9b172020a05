"""Differences between the databases: concurrent syncs, and the text that they can store."""

import random
import threading

import pytest
from sqlalchemy import URL, text

from records.configs import ConfigRecord
from records.errors import RequestError, UnavailableError
from replay import sql_sync
from replay.image.digest import image_digest
from replay.snapshot.database import writing
from replay.snapshot.revision import HISTORY_VERSION_TABLE
from replay.sql_history import changes, dead_rows
from replay.sql_history.server import HistoryDatabase
from replay.sql_history.store import HistoryStore
from replay.sql_history.tables import metadata
from replay.sql_sync import sync
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline
from tests.histories import random_history
from tests.postgres import new_database
from tests.replay.builders import FakeLog, batch, batches, change, partition, topic
from tests.replay.sql_history.conftest import ON_BOTH


@ON_BOTH
def test_syncs_at_the_same_time_add_each_record_once(url: URL) -> None:
    log = FakeLog(random_history(random.Random(3), 60))
    with HistoryStore.open(url, create=True):
        pass
    start, late = threading.Barrier(3), []

    def run() -> None:
        with HistoryStore.open(url) as store:
            start.wait()
            try:
                sync(Timeline(log), log, store)
            except UnavailableError as error:
                late.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another process is syncing" in each for each in late)
    with HistoryStore.open(url) as store:
        position = store.position()
        assert position is not None
        for at in (0, position.end_offset // 2, position.end_offset - 1):
            assert store.digest(at) == image_digest(Timeline(log).image(at))


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_text_that_postgresql_cannot_keep_is_refused(store: HistoryStore) -> None:
    log = FakeLog(batches((topic("a\0b"),)))
    with pytest.raises(RequestError, match=r"cannot be kept in PostgreSQL: .*; sync into SQLite"):
        sync(Timeline(log), log, store)
    assert store.position() is None


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_time_that_postgresql_cannot_keep_is_refused(store: HistoryStore) -> None:
    log = FakeLog([batch(0, topic("orders"), timestamp=10**15)])
    with pytest.raises(RequestError, match=r"1000000000000000 ms since 1970.*sync into SQLite"):
        sync(Timeline(log), log, store)
    assert store.position() is None


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_long_sync_uses_the_space_of_replaced_rows(
    store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (topic("orders"), *(partition("orders", number) for number in range(400)))
    changed = [
        tuple(change("orders", number, leader=1 + at % 3) for number in range(400))
        for at in range(10)
    ]
    log = FakeLog(batches(made, *changed))
    monkeypatch.setattr(sql_sync, "_TRANSACTION_ROWS", 800)
    monkeypatch.setattr(changes, "RUN_ROWS_MAX", 400)
    sizes = []
    for dead_min in (10**6, 100):
        monkeypatch.setattr(dead_rows, "_DEAD_MIN", dead_min)
        with writing(store.engine) as connection:
            names = ", ".join(metadata.tables)
            connection.exec_driver_sql(f"TRUNCATE {names}")
        sync(Timeline(log), log, store)
        with store.engine.connect() as connection:
            query = text("SELECT pg_relation_size('partition_version')")
            sizes.append(int(connection.scalar(query) or 0))
    assert sizes[1] < 0.7 * sizes[0]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_text_in_databases_of_other_encodings(postgres: URL, encoding: str) -> None:
    log = FakeLog(batches((topic("secret-\u20ac"),)))
    with new_database(postgres, encoding) as url, HistoryStore.open(url, create=True) as store:
        if encoding == "SQL_ASCII":  # it keeps any bytes
            sync(Timeline(log), log, store)
            end = log.end_offset - 1
            assert store.digest(end) == image_digest(Timeline(log).image(end))
            return
        with pytest.raises(RequestError, match="with encoding UTF8") as refused:
            sync(Timeline(log), log, store)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_key_that_is_too_long_for_an_index_is_refused(store: HistoryStore) -> None:
    name = random.Random(1).randbytes(5_000).hex()
    record = ConfigRecord(resource_type=4, resource_name="1", name=name, value="v")
    log = FakeLog(batches((record,)))
    with pytest.raises(RequestError, match="too long for PostgreSQL; keep it in SQLite"):
        sync(Timeline(log), log, store)


def test_a_server_that_cannot_be_reached_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    log = FakeLog(batches((topic("orders"),)))
    index = HistoryDatabase("postgresql://metalog@127.0.0.1:1/metadata", log)
    asked = parse_object("topic:orders")
    assert [index.changes_of(asked, (), 1) for _ in range(2)] == [None, None]
    assert index.outage_beginnings(1, (), None) is None
    (warning,) = caplog.messages
    assert "127.0.0.1:1/metadata passed over: " in warning


def test_tables_that_go_between_two_questions_are_passed_over(
    postgres_url: URL, caplog: pytest.LogCaptureFixture
) -> None:
    log = FakeLog(batches((topic("orders"),)))
    with HistoryStore.open(postgres_url, create=True) as store:
        sync(Timeline(log), log, store)
        index = HistoryDatabase(postgres_url, log)
        assert index.end_offset() == 1
        with writing(store.engine) as connection:
            connection.exec_driver_sql(f"DROP TABLE {HISTORY_VERSION_TABLE}")
    assert not caplog.messages
    assert index.end_offset() is None
    (warning,) = caplog.messages
    assert "the tables are not those that metalog makes" in warning
