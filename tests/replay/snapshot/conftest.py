"""Databases and stores to test with."""

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


@pytest.fixture
def url(tmp_path: Path) -> URL:
    """Where a log in a new directory keeps its snapshots; no file is there yet."""
    return default_url(tmp_path)


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
