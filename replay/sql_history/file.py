"""Reads the SQL history file in a log's directory through the standard library's sqlite3.

Reading never writes, and waits at most 100 ms for a lock.
"""

import functools
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from records.errors import RequestError
from records.text import uuid_text
from replay.loader import BatchSource
from replay.sql_history.index import HistoryIndex
from replay.sql_history.record_offsets import Ask

_WAIT_S = 0.1

# Of pages that are read again and again, such as those of lists of replicas.
_CACHE_KIB = 64 * 1024


class HistoryFile(HistoryIndex):
    """The SQL history of a log in a SQLite file, which may be missing."""

    def __init__(self, path: Path, source: BatchSource) -> None:
        super().__init__(str(path), source)
        self._path = path

    def exists(self) -> bool:
        """True if the database file exists."""
        # Opening a FIFO would wait for its other end.
        return self._path.is_file()

    @contextmanager
    def reading(self) -> Iterator[Ask]:
        """Yield a function that queries the tables; creates no files next to the database."""
        with _reading(self._path) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                raise RequestError(
                    "HISTORY_NOT_FOUND", "the tables are still being made; try again"
                )
            yield lambda query, values: connection.execute(
                query, {name: _stored(value) for name, value in values.items()}
            )


# Questions about many partitions name the same topics again and again.
_id_text = functools.lru_cache(1_000)(uuid_text)


def _stored(value: Any) -> Any:
    return _id_text(value) if isinstance(value, bytes) else value


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection in a transaction; creates no files next to the database.

    If there is a write-ahead log, SQLite reads it. If there is none, the last writer has closed the
    database, which is then opened as immutable; a write meanwhile raises an error.
    """
    log = path.with_name(path.name + "-wal")
    before = None if _size(log) else path.stat()
    mode = "ro" if before is None else "ro&immutable=1"
    uri = f"file:{quote(str(path))}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as connection:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        # One transaction: what is read belongs together.
        connection.execute("BEGIN")
        yield connection
    if before is not None:
        now = path.stat()
        if _size(log) or (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise sqlite3.OperationalError("the database was written while it was read")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
