"""An empty history database of each kind, into which tests sync.

The migrations run once for each kind, because they take longer than a test. SQLite files are
copies.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from replay.snapshot.database import writing
from replay.sql_history.store import HistoryStore, default_url
from replay.sql_history.tables import metadata
from tests.postgres import new_database

ON_BOTH = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
"""A mark for tests that run on each kind of database; others run on SQLite."""

HEAVY_ON_POSTGRESQL = pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.heavy)], indirect=True
)
"""The same for tests that take long."""


def emptied(url: URL, name: str = "") -> URL:
    """Return the URL of an empty history; for SQLite a copy of an empty file."""
    if url.get_backend_name() == "sqlite":
        copy = f"{url.database}-{name}"
        shutil.copyfile(str(url.database), copy)
        return url.set(database=copy)
    with HistoryStore.open(url) as store, writing(store.engine) as connection:
        # TRUNCATE makes every table a new file, which takes the server four times as long.
        tables = reversed(metadata.sorted_tables)
        connection.exec_driver_sql("; ".join(f"DELETE FROM {each.name}" for each in tables))
    return url


@pytest.fixture(scope="session")
def migrated_history_url(postgres: URL) -> Iterator[URL]:
    """A PostgreSQL database with the tables of the history."""
    with new_database(postgres) as url:
        with HistoryStore.open(url, create=True):
            pass
        yield url


@pytest.fixture(scope="session")
def migrated_history_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the tables, which tests copy."""
    url = default_url(tmp_path_factory.mktemp("history"))
    with HistoryStore.open(url, create=True):
        pass
    return Path(str(url.database))


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """The URL of an empty history: tables without rows."""
    if getattr(request, "param", "sqlite") == "sqlite":
        made: Path = request.getfixturevalue("migrated_history_file")
        shutil.copyfile(made, tmp_path / made.name)
        return default_url(tmp_path)
    url: URL = request.getfixturevalue("migrated_history_url")
    return emptied(url)


@pytest.fixture
def store(url: URL) -> Iterator[HistoryStore]:
    """A store of empty tables."""
    with HistoryStore.open(url, create=True) as opened:
        yield opened
