"""Databases and stores to test with."""

from collections.abc import Iterator

import pytest
from sqlalchemy import URL, Engine

from replay.snapshot import schema
from replay.snapshot.database import open_database
from replay.snapshot.store import SnapshotStore

CLUSTER = "test-cluster"


class FixedClock:
    """A clock that always shows the same time."""

    def now_ms(self) -> int:
        return 1_700_000_000_000


ON_BOTH = pytest.mark.parametrize("snapshots_url", ["sqlite", "postgresql"], indirect=True)
"""A mark for tests that run on each kind of database; others run on SQLite."""


@pytest.fixture
def url(snapshots_url: URL) -> URL:
    """A database without snapshots; of SQLite no file is there yet."""
    return snapshots_url


@pytest.fixture
def engine(url: URL) -> Iterator[Engine]:
    """A database with the schema of this release."""
    engine = open_database(url, create=True)
    schema.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> SnapshotStore:
    """An empty store."""
    return SnapshotStore(engine, CLUSTER, FixedClock())
