"""The library `eventsourcing` on SQLite, used at its lowest public layer: the recorder.

The library's applications and aggregates are built on the recorder and would only add time. The
library opens SQLite in WAL mode and leaves `synchronous` at FULL, SQLite's default; this is
checked.
"""

import itertools
import threading
import time
import uuid
from pathlib import Path
from typing import Self

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from benchmarks.changes import partition_changes, stored_bytes
from records.partitions import PartitionChangeRecord

_FULL = 2
# Callers wait for the one writer: long enough that none gives up.
_TIMEOUT_S = 60
_TOPIC = "records.partitions:PartitionChangeRecord"


class EventStore:
    """One table of events; each caller writes its own aggregate."""

    def __init__(self, path: Path) -> None:
        self._store = SQLiteDatastore(
            str(path), lock_timeout=_TIMEOUT_S, pool_timeout=float(_TIMEOUT_S)
        )
        self._recorder = SQLiteApplicationRecorder(self._store)
        self._recorder.create_table()
        self._check_sync()
        self._changes = partition_changes()
        self._versions: dict[int, itertools.count[int]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def append(self, count: int, *, callers: int, batch_records: int) -> None:
        """Insert `count` records in batches of `batch_records`, by `callers` threads."""
        left = itertools.repeat(None, count // batch_records)

        def caller(number: int) -> None:
            while True:
                # One iterator for all: threads may not run it at once.
                with self._lock:
                    if next(left, self) is self:
                        return
                    changes = list(itertools.islice(self._changes, batch_records))
                self._recorder.insert_events(self._events(number, changes))

        threads = [threading.Thread(target=caller, args=(n,)) for n in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _events(self, number: int, changes: list[PartitionChangeRecord]) -> list[StoredEvent]:
        versions = self._versions.setdefault(number, itertools.count())
        now = time.time_ns() // 1_000_000
        return [
            StoredEvent(
                originator_id=uuid.UUID(int=number),
                originator_version=version,
                topic=_TOPIC,
                state=stored_bytes(version, change, now),
            )
            for change, version in zip(changes, versions, strict=False)
        ]

    def _check_sync(self) -> None:
        with self._store.transaction(commit=False) as cursor:
            found = {}
            for name in ("journal_mode", "synchronous"):
                cursor.execute(f"PRAGMA {name}")
                found[name] = cursor.fetchone()[0]
        assert found == {"journal_mode": "wal", "synchronous": _FULL}, found
