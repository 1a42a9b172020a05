"""Migrations create the tables completely or not at all; everything else only checks them."""

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, event, inspect, select, text, update

from records.errors import CorruptLogError, RequestError
from replay.snapshot import schema
from replay.snapshot.database import default_url, open_database, writing
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.revision import SCHEMA_REVISION, VERSION_TABLE
from replay.snapshot.store import SnapshotStore
from replay.snapshot.stored import ManifestEntry, manifest_checksum
from replay.snapshot.tables import metadata, snapshot, snapshot_manifest
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.snapshot.images import cluster_of


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, sqlite_url: URL) -> URL:
    """A database without tables, of each kind; for SQLite the file does not exist yet."""
    if request.param == "sqlite":
        return sqlite_url
    empty: URL = request.getfixturevalue("postgres_url")
    return empty


@pytest.fixture
def sqlite_url(tmp_path: Path) -> URL:
    """The URL of the snapshots of a log in a new directory."""
    return default_url(tmp_path)


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(schema.SNAPSHOTS.migrations))
    config.attributes["connection"] = connection
    return config


def _tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


def test_migrations_make_the_tables_the_code_uses(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


def test_migrations_give_constraints_the_names_the_code_gives_them(engine: Engine) -> None:
    migrated = _constraints(engine)
    with writing(engine) as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
    assert _constraints(engine) == migrated


def _constraints(engine: Engine) -> set[str | None]:
    look = inspect(engine)
    return {
        constraint["name"]
        for table in metadata.tables
        for constraint in [
            look.get_pk_constraint(table),
            *look.get_unique_constraints(table),
            *look.get_foreign_keys(table),
            *look.get_indexes(table),
        ]
    }


def test_newest_migration_is_the_one_the_code_asks_for() -> None:
    assert ScriptDirectory.from_config(_config()).get_heads() == [SCHEMA_REVISION]


def test_upgrade_of_a_current_schema_changes_nothing(engine: Engine) -> None:
    before = _tables(engine)
    schema.upgrade(engine)
    assert _tables(engine) == before


def test_downgrade_leads_back_to_nothing_and_upgrade_to_all(engine: Engine) -> None:
    with writing(engine) as connection:
        command.downgrade(_config(connection), "base")
    assert _tables(engine) == {VERSION_TABLE}
    schema.upgrade(engine)
    assert _tables(engine) == {*metadata.tables, VERSION_TABLE}


@pytest.mark.parametrize("released", ["0001", "0002", "0003"])
def test_snapshots_of_every_released_schema_are_read_after_an_upgrade(
    url: URL, released: str
) -> None:
    image = cluster_of(range(2))
    with SnapshotStore.open(url, CLUSTER, upgrade=True) as store:
        info = store.create(image)
    engine = open_database(url)
    with writing(engine) as connection:
        if released == "0001":
            _as_first_released(connection, info)
        command.downgrade(_config(connection), released)
    if released != SCHEMA_REVISION:
        with pytest.raises(RequestError, match=f"revision {released}.*metalog snapshot create"):
            SnapshotStore.open(url, CLUSTER)
    schema.upgrade(engine)
    assert SnapshotStore(engine, CLUSTER).load(8) == image
    engine.dispose()


def _as_first_released(connection: Connection, info: SnapshotInfo) -> None:
    """Give a snapshot the row that the first release wrote: the downgrade deletes later columns."""
    early = dict.fromkeys(("last_crc32c", "rules", "not_understood"))
    manifest = snapshot_manifest.c
    entries = connection.execute(select(manifest.part, manifest.ordinal, manifest.chunk_hash))
    checksum = manifest_checksum(
        msgspec.structs.replace(info, **early), [ManifestEntry(*entry) for entry in entries]
    )
    connection.execute(update(snapshot).values({**early, "checksum": checksum}))


def test_database_without_schema_is_refused_with_the_command_to_run(url: URL) -> None:
    open_database(url, create=True).dispose()
    with pytest.raises(RequestError, match=r"no snapshots;.*metalog snapshot create") as refused:
        SnapshotStore.open(url, CLUSTER)
    assert refused.value.code == "SNAPSHOT_NOT_FOUND"


def test_schema_of_a_newer_release_is_refused_and_left_alone(engine: Engine, url: URL) -> None:
    with writing(engine) as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    for upgrade in (False, True):
        with pytest.raises(RequestError, match="9999") as refused:
            SnapshotStore.open(url, CLUSTER, upgrade=upgrade)
        assert refused.value.code == "UNSUPPORTED_VERSION"


def test_upgrade_that_dies_at_any_statement_leaves_nothing_behind(url: URL) -> None:
    engine = open_database(url, create=True)
    deaths = 0
    while True:
        dying = _DiesAt(deaths)
        event.listen(engine, "before_cursor_execute", dying)
        try:
            schema.upgrade(engine)
            break
        except _Death:
            deaths += 1
        finally:
            event.remove(engine, "before_cursor_execute", dying)
        assert _tables(engine) == set()
    assert deaths > len(metadata.tables)
    schema.check(engine)
    engine.dispose()


class _Death(BaseException):
    """The process dies here."""


class _DiesAt:
    def __init__(self, statement: int) -> None:
        self.left = statement

    def __call__(self, *_: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise _Death


def test_opening_without_upgrade_makes_no_file(sqlite_url: URL) -> None:
    with pytest.raises(RequestError, match="does not exist yet; make it with") as refused:
        SnapshotStore.open(sqlite_url, CLUSTER)
    assert refused.value.code == "SNAPSHOT_NOT_FOUND"
    assert not Path(str(sqlite_url.database)).exists()


def test_only_the_owner_may_read_the_file(sqlite_url: URL) -> None:
    SnapshotStore.open(sqlite_url, CLUSTER, upgrade=True).close()
    assert stat.S_IMODE(os.stat(str(sqlite_url.database)).st_mode) == 0o600


def test_commits_reach_the_disk_and_references_are_checked(sqlite_url: URL) -> None:
    engine = open_database(sqlite_url, create=True)
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA synchronous")) == 2
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
        assert connection.scalar(text("PRAGMA journal_mode")) == "delete"
    engine.dispose()


@pytest.mark.parametrize(
    "url",
    ["nonsense", "sqlite://", "sqlite:///:memory:", "nosuch://host/db", "sqlite:////no/where/x"],
)
def test_url_that_cannot_be_opened_is_a_request_error(url: str) -> None:
    with pytest.raises(RequestError) as refused:
        SnapshotStore.open(url, CLUSTER, upgrade=True)
    assert refused.value.code == "INVALID_REQUEST"


def test_directory_name_with_odd_characters_works(tmp_path: Path) -> None:
    directory = tmp_path / "50% of a?b#c d"
    directory.mkdir()
    SnapshotStore.open(default_url(directory), CLUSTER, upgrade=True).close()
    assert (directory / "snapshots.db").exists()


def test_file_that_is_no_database_is_damage(sqlite_url: URL) -> None:
    Path(str(sqlite_url.database)).write_bytes(b"not a database, whatever its name says" * 100)
    with pytest.raises(CorruptLogError, match=r"snapshots\.db.*made from the log"):
        SnapshotStore.open(sqlite_url, CLUSTER)
