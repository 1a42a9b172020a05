"""Stores a snapshot, and is killed at each statement in turn. Run by test_crash.

Prints the number of kills. Each attempt is a separate process, forked before any file is open.
"""

import os
import signal
import sys
from typing import Any

import psycopg  # noqa: F401  # once, before each attempt would
from sqlalchemy import event

from replay.snapshot.database import open_database
from replay.snapshot.store import SnapshotStore
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.snapshot.images import cluster_of

TOPICS_BEFORE = 1
TOPICS_AFTER = 300


def main(url: str) -> None:
    """Try to store the larger image, until an attempt is not killed."""
    kills = 0
    while (child := os.fork()) and os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        kills += 1
    if child:
        print(kills)
    else:
        _store_until(url, kills)


def _store_until(url: str, statement: int) -> None:
    engine = open_database(url)
    left = statement

    def count(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _spill_early)
    event.listen(engine, "before_cursor_execute", count)
    event.listen(engine, "commit", count)
    SnapshotStore(engine, CLUSTER).create(cluster_of(range(TOPICS_AFTER)))
    engine.dispose()


def _spill_early(connection: Any, _entry: object) -> None:
    # With room for a page or two SQLite writes to the file long before it commits.
    connection.execute("PRAGMA cache_size = 2")


if __name__ == "__main__":
    main(sys.argv[1])
