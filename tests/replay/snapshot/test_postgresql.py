"""A remote PostgreSQL: refused connections with their reasons, concurrent writers and readers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from sqlalchemy import URL, Engine, event, text

from records.errors import RequestError, UnavailableError
from replay.snapshot import postgresql
from replay.snapshot.database import open_database, reading, shown_url, writing
from replay.snapshot.store import SnapshotStore
from tests.postgres import text_of
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.snapshot.images import cluster_of

ONE, TWO, THREE = (cluster_of(range(count)) for count in (1, 2, 3))


@pytest.fixture
def snapshots_url(postgres_url: URL) -> URL:
    """A separate database, which a test may change."""
    return postgres_url


def _refusal(url: URL, code: str = "INVALID_REQUEST") -> str:
    with pytest.raises(RequestError) as refused:
        SnapshotStore.open(url, CLUSTER, upgrade=True)
    assert refused.value.code == code
    assert str(url.password) not in str(refused.value)
    return str(refused.value)


def test_server_that_is_not_there_says_where_it_was_looked_for(postgres: URL) -> None:
    with pytest.raises(UnavailableError, match=r"\*\*\*@127.0.0.1:1/.*refused; try again"):
        SnapshotStore.open(postgres.set(port=1), CLUSTER)


@pytest.mark.parametrize(
    ("place", "query"),
    [
        ("{host}:1,{host}:{port}", "?target_session_attrs=read-write"),
        ("", "?host={host},{host}&port=1,{port}"),
        ("{host},{host}:{port}", ""),
        ("", "?host=no.such.host.invalid%2C{host}&port={port}"),
    ],
)
def test_of_several_servers_one_that_answers_is_taken(
    postgres_url: URL, place: str, query: str
) -> None:
    of = {"host": postgres_url.host, "port": postgres_url.port}
    password = quote(str(postgres_url.password), safe="")
    login = f"{postgres_url.username}:{password}@"
    url = f"postgresql://{login}{place}/{postgres_url.database}{query}".format(**of)
    with SnapshotStore.open(url, CLUSTER, upgrade=True) as store:
        assert store.list() == ()


def test_several_servers_of_which_none_answers_are_named_without_the_password() -> None:
    url = "postgresql://metalog:secret@127.0.0.1:1,127.0.0.1:2/db"
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1") as caught:
        SnapshotStore.open(url, CLUSTER)
    assert "secret" not in str(caught.value)
    with pytest.raises(RequestError, match="non-integer port") as refused:
        SnapshotStore.open(url.replace(":2", ":two"), CLUSTER)
    assert "secret" not in str(refused.value)


def test_wrong_password_is_refused_and_not_printed(postgres: URL) -> None:
    refusal = _refusal(postgres.set(password="quite:wrong@all"))
    assert "password authentication failed" in refusal
    assert "PGPASSWORD" in refusal


def test_missing_database_and_schema_are_refused(postgres_url: URL) -> None:
    assert "create the database" in _refusal(postgres_url.set(database="no_such"))
    nowhere = postgres_url.set(query={"options": "-csearch_path=no_such"})
    assert "create the schema first" in _refusal(nowhere)


def test_table_of_another_program_is_left_alone(url: URL) -> None:
    engine = open_database(url)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE snapshot (a int)"))
    assert "'snapshot' there was not made by metalog" in _refusal(url)
    with writing(engine) as connection:
        connection.execute(text("CREATE SCHEMA metalog"))
    engine.dispose()
    own_schema = url.set(query={"options": "-csearch_path=metalog"})
    with SnapshotStore.open(own_schema, CLUSTER, upgrade=True) as store:
        store.create(TWO)
        assert store.load(8) == TWO


def test_role_without_rights_is_refused(url: URL, engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(text("SET LOCAL password_encryption = 'scram-sha-256'"))
        connection.execute(text("DROP ROLE IF EXISTS reader"))
        connection.execute(text("CREATE ROLE reader LOGIN PASSWORD 'reads'"))
    reader = url.set(username="reader", password="reads")
    with pytest.raises(RequestError, match=r"permission denied.*grant this role"):
        SnapshotStore.open(reader, CLUSTER)
    with writing(engine) as connection:
        connection.execute(text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"))
    with SnapshotStore.open(reader, CLUSTER) as store:
        assert store.list() == ()
        with pytest.raises(RequestError, match="permission denied"):
            store.create(ONE)
    with writing(engine) as connection:
        connection.execute(text("DROP OWNED BY reader"))
        connection.execute(text("DROP ROLE reader"))


def test_standby_is_refused_by_writers_and_read(url: URL, store: SnapshotStore) -> None:
    store.create(ONE)
    standby = url.set(query={"options": "-cdefault_transaction_read_only=on"})
    with SnapshotStore.open(standby, CLUSTER) as opened:
        assert opened.load(4) == ONE
        with pytest.raises(RequestError, match=r"read-only.*name the primary"):
            opened.create(TWO)


def test_broken_connection_is_made_again(store: SnapshotStore, engine: Engine) -> None:
    store.create(ONE)
    other = open_database(engine.url)
    with writing(other) as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    other.dispose()
    assert store.load(4) == ONE


def test_writer_waits_for_another_only_for_a_while(
    store: SnapshotStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "LOCK_TIMEOUT_S", 0.01)
    with writing(engine), pytest.raises(UnavailableError, match="lock timeout; try again"):
        store.create(ONE)
    assert store.list() == ()


def test_two_writers_at_once_store_both_snapshots(store: SnapshotStore, engine: Engine) -> None:
    # Each shares chunks with the other, and meets it while it writes.
    images = [cluster_of(range(count)) for count in range(1, 9)]
    failed: list[BaseException] = []

    def write(own: int) -> None:
        try:
            with _opened(engine) as mine:
                for image in images[own::2] + images[1 - own :: 2]:
                    mine.create(image)
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(own,)) for own in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failed
    assert [store.load(info.end_offset) for info in store.list()] == images


def test_reader_keeps_what_another_process_prunes_meanwhile(
    store: SnapshotStore, engine: Engine
) -> None:
    for image in (ONE, TWO, THREE):
        store.create(image)
    left = 3  # begin, row, manifest; not yet the chunks

    def prune(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with _opened(engine) as other:
                assert other.prune(1) == 2

    event.listen(engine, "after_cursor_execute", prune)
    assert store.load(4) == ONE
    assert [info.end_offset for info in store.list()] == [12]


def test_reading_changes_nothing(engine: Engine) -> None:
    refused = pytest.raises(RequestError, match="read-only transaction")
    with refused, reading(engine) as connection:
        connection.execute(text("CREATE TABLE mine (a int)"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:p:w@d@db/x", "postgresql://ada:***@db/x"),
        ("postgresql://ada@db/x?password=pw&port=1", "postgresql://ada@db/x?password=***&port=1"),
        (
            URL.create("postgresql", "ada", "pw", "db", query={"sslpassword": "pw"}),
            "postgresql://ada:***@db?sslpassword=***",
        ),
        ("postgresql://ada:pw", "postgresql://ada:***"),
        ("postgresql://ada:1pw/x?y", "postgresql://ada:***"),
        ("postgresql://db:5432/x", "postgresql://db:5432/x"),
        ("sqlite:////var/lib/log/snapshots.db", "sqlite:////var/lib/log/snapshots.db"),
    ],
)
def test_shown_url_has_no_password(url: str | URL, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("postgresql://ada:secret", "its port is not a number"),
        ("postgresql://ada:old@secret@db/x", "%40"),
        ("postgresql://ada:secret@127.0.0.1/x?passwd=secret", "invalid connection option"),
        ("postgresql://ada:secret@127.0.0.1:99999/x", "ports are 1 to 65535"),
    ],
)
def test_malformed_url_is_refused_without_a_part_of_its_password(url: str, advice: str) -> None:
    with pytest.raises(RequestError, match=advice) as refused:
        SnapshotStore.open(url, CLUSTER)
    assert "secret" not in str(refused.value)


def test_url_may_say_postgres(store: SnapshotStore, engine: Engine) -> None:
    store.create(ONE)
    url = text_of(engine.url).replace("postgresql://", "postgres://")
    with SnapshotStore.open(url, CLUSTER) as opened:
        assert opened.load(4) == ONE


@contextmanager
def _opened(engine: Engine) -> Iterator[SnapshotStore]:
    with SnapshotStore.open(engine.url, CLUSTER) as store:
        yield store
