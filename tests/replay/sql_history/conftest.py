"""An empty history to sync into, in each kind of database."""

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
    """Return the URL of a history without rows: in SQLite another file, which is not there yet."""
    if url.get_backend_name() == "sqlite":
        return url.set(database=f"{url.database}-{name}")
    with HistoryStore.open(url) as store, writing(store.engine) as connection:
        connection.exec_driver_sql(f"TRUNCATE {', '.join(metadata.tables)}")
    return url


@pytest.fixture(scope="session")
def migrated_history_url(postgres: URL) -> Iterator[URL]:
    """A PostgreSQL database with the tables, made once: making them takes longer than a test."""
    with new_database(postgres) as url:
        with HistoryStore.open(url, create=True):
            pass
        yield url


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """Where the history of a log goes; of SQLite no file is there yet."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return default_url(tmp_path)
    url: URL = request.getfixturevalue("migrated_history_url")
    return emptied(url)


@pytest.fixture
def store(url: URL) -> Iterator[HistoryStore]:
    """Tables without rows."""
    with HistoryStore.open(url, create=True) as opened:
        yield opened
