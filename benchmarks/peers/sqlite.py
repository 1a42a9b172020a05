"""Raw SQLite in WAL mode with `synchronous=FULL`: a commit returns after its sync."""

import itertools
import sqlite3
import time
from pathlib import Path
from typing import Self

from benchmarks.changes import partition_changes, stored_bytes

_FULL = 2


class RawSqlite:
    """A table of rows by offset, used through one connection."""

    def __init__(self, path: Path) -> None:
        self._changes = partition_changes()
        self._offsets = itertools.count()
        # No implicit transactions: a single insert is its own.
        self._connection = sqlite3.connect(path, isolation_level=None)
        (mode,) = self._connection.execute("PRAGMA journal_mode=WAL").fetchone()
        self._connection.execute("PRAGMA synchronous=FULL")
        (synchronous,) = self._connection.execute("PRAGMA synchronous").fetchone()
        assert (mode, synchronous) == ("wal", _FULL)
        self._connection.execute("CREATE TABLE log (offset INTEGER PRIMARY KEY, stored BLOB)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def append(self, count: int, *, batch_records: int) -> None:
        """Insert `count` records, each batch in a transaction of its own."""
        for _ in range(count // batch_records):
            rows = self._rows(batch_records)
            if batch_records == 1:
                self._connection.execute("INSERT INTO log VALUES (?, ?)", rows[0])
            else:
                self._connection.execute("BEGIN")
                self._connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
                self._connection.execute("COMMIT")

    def _rows(self, count: int) -> list[tuple[int, bytes]]:
        now = time.time_ns() // 1_000_000
        return [
            (offset, stored_bytes(offset, change, now))
            for offset, change in zip(
                itertools.islice(self._offsets, count), self._changes, strict=False
            )
        ]
