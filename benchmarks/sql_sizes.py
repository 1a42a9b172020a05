"""Sizes of the SQL history's tables and indexes in both databases, and the CPU time of a sync.

    python -m benchmarks.sql_sizes --records 300000 [--directory DIR]

Sizes are in bytes per record of the log, and as multiples of the log's own size.
"""

import argparse
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import URL, text

from benchmarks.generated_log import generated_log
from benchmarks.harness import cpu_seconds
from metadata_log.reader.log_reader import LogReader
from replay.sql_history.store import HistoryStore, default_url
from replay.sql_sync import sync
from replay.timeline import Timeline

Sizes = Mapping[str, int]
"""Bytes by name of the table or index."""

_POSTGRESQL = """
SELECT relname, pg_relation_size(oid) FROM pg_class
WHERE relnamespace = current_schema::regnamespace AND relkind IN ('r', 'i')
"""

# Tables without rowids are stored in the index of their primary key.
_SQLITE = """
SELECT CASE WHEN name LIKE 'sqlite_autoindex_%' THEN tbl_name ELSE name END, bytes
FROM (SELECT name, SUM(pgsize) AS bytes FROM dbstat GROUP BY name)
LEFT JOIN sqlite_master USING (name)
"""

_SHOWN_FROM = 0.05
"""Smaller tables and indexes, in bytes per record, are summed up."""


def main() -> None:
    """Print the sizes and the CPU time of a sync into each database."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--directory", type=Path, default=Path(), metavar="DIR")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="metalog-bench-", dir=given.directory) as name:
        scratch = Path(name)
        log = generated_log(scratch, given.records)
        log_bytes = sum(each.stat().st_size for each in log.iterdir() if each.is_file())
        print(f"log: {given.records:,} records, {log_bytes / given.records:.1f} B each")
        sizes, sync_s = _in_sqlite(log, scratch)
        _print("SQLite", sizes, sync_s, given.records, log_bytes)
        sizes, sync_s = _in_postgresql(log)
        _print("PostgreSQL", sizes, sync_s, given.records, log_bytes)


def _in_sqlite(log: Path, scratch: Path) -> tuple[Sizes, float]:
    url = default_url(scratch)
    sync_s = _synced(log, url)
    with closing(sqlite3.connect(str(url.database))) as connection:
        return dict(connection.execute(_SQLITE)), sync_s


def _in_postgresql(log: Path) -> tuple[Sizes, float]:
    from tests.postgres import new_database, postgres_server

    with postgres_server() as server, new_database(server) as url:
        sync_s = _synced(log, url)
        with HistoryStore.open(url) as store, store.engine.connect() as connection:
            rows: list[Any] = list(connection.execute(text(_POSTGRESQL)))
            return dict(map(tuple, rows)), sync_s


def _synced(log: Path, url: URL) -> float:
    """Sync a log into an empty database; return the CPU time of this process."""
    with LogReader.open(log) as reader, HistoryStore.open(url, create=True) as store:
        return cpu_seconds(lambda: sync(Timeline(reader), reader, store))


def _print(name: str, sizes: Sizes, sync_s: float, records: int, log_bytes: int) -> None:
    total = sum(sizes.values())
    rest = 0
    print(f"\n{name}: synced at {records / sync_s:,.0f} records/s of CPU time")
    for relation, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size / records < _SHOWN_FROM:
            rest += size
            continue
        print(f"{relation:<40} {size / records:8.1f} B {size / log_bytes:6.2f}")
    print(f"{'others':<40} {rest / records:8.1f} B {rest / log_bytes:6.2f}")
    print(f"{'all':<40} {total / records:8.1f} B {total / log_bytes:6.2f}")


if __name__ == "__main__":
    main()
