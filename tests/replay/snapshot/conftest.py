"""Databases and snapshot stores for tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine

from replay.snapshot import schema
from replay.snapshot.database import default_url, open_database
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
    """A database without snapshots; for SQLite the file does not exist yet."""
    return snapshots_url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the schema of this release. Tests copy it, which is faster than a
    migration.
    """
    url = default_url(tmp_path_factory.mktemp("snapshots"))
    SnapshotStore.open(url, "any", upgrade=True).close()
    return Path(str(url.database))


@pytest.fixture
def engine(url: URL, migrated_file: Path) -> Iterator[Engine]:
    """A database with the schema of this release."""
    if url.get_backend_name() == "sqlite":
        shutil.copyfile(migrated_file, str(url.database))
    engine = open_database(url, create=True)
    schema.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> SnapshotStore:
    """An empty store."""
    return SnapshotStore(engine, CLUSTER, FixedClock())
