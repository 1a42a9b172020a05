"""A database that another process keeps locked counts as unavailable; nothing is stored."""

import pytest
from sqlalchemy import URL, Engine

from records.errors import UnavailableError
from replay.snapshot import database
from replay.snapshot.database import writing
from replay.snapshot.store import SnapshotStore
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.snapshot.images import cluster_of


def test_database_that_stays_locked_says_try_again(
    url: URL, engine: Engine, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0)
    impatient = database.open_database(url)
    locked = pytest.raises(UnavailableError, match=r"snapshots\.db.*locked; try again")
    with writing(engine), locked:
        SnapshotStore(impatient, CLUSTER).create(cluster_of(range(2)))
    impatient.dispose()
    assert store.list() == ()
