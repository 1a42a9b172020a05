"""Sizes of the SQL history's tables and indexes in both databases, and the times of a sync.

    python -m benchmarks.sql_sizes --records 300000 [--directory DIR] [--indexes-later]

Sizes are in bytes per record of the log, and as multiples of the log's own size. With
`--indexes-later` the indexes besides the primary keys are dropped before the sync and created after
it, both timed.
"""

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import URL, Connection, inspect, text
from sqlalchemy.schema import CreateIndex, Index

from benchmarks.generated_log import generated_log
from metadata_log.reader.log_reader import LogReader
from replay.snapshot.database import writing
from replay.sql_history.store import HistoryStore, default_url
from replay.sql_history.tables import metadata
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


class Times(NamedTuple):
    """Seconds of this process's CPU, and by the clock."""

    cpu: float
    clock: float

    @classmethod
    def now(cls) -> "Times":
        """Return the present times; only differences mean something."""
        return cls(time.process_time(), time.perf_counter())

    def since(self, start: "Times") -> "Times":
        """Return the time that has passed since `start`."""
        return Times(self.cpu - start.cpu, self.clock - start.clock)


def main() -> None:
    """Print the sizes and the times of a sync into each database."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--directory", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--indexes-later", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="metalog-bench-", dir=given.directory) as name:
        scratch = Path(name)
        log = generated_log(scratch, given.records)
        log_bytes = sum(each.stat().st_size for each in log.iterdir() if each.is_file())
        print(f"log: {given.records:,} records, {log_bytes / given.records:.1f} B each")
        for database, measure in (("SQLite", _in_sqlite), ("PostgreSQL", _in_postgresql)):
            print(f"\n{database}:")
            sizes = measure(log, scratch, given.indexes_later)
            _print(sizes, given.records, log_bytes)


def _in_sqlite(log: Path, scratch: Path, indexes_later: bool) -> Sizes:
    url = default_url(scratch)
    _sync(log, url, indexes_later)
    with closing(sqlite3.connect(str(url.database))) as connection:
        return dict(connection.execute(_SQLITE))


def _in_postgresql(log: Path, _: Path, indexes_later: bool) -> Sizes:
    from tests.postgres import new_database, postgres_server

    with postgres_server() as server, new_database(server) as url:
        _sync(log, url, indexes_later)
        with HistoryStore.open(url) as store, store.engine.connect() as connection:
            rows: list[Any] = list(connection.execute(text(_POSTGRESQL)))
            return dict(map(tuple, rows))


def _sync(log: Path, url: URL, indexes_later: bool) -> None:
    """Sync a log into an empty database, and print the times."""
    with LogReader.open(log) as reader, HistoryStore.open(url, create=True) as store:
        with writing(store.engine) as connection:
            dropped = _drop_indexes(connection) if indexes_later else []
        start = Times.now()
        sync(Timeline(reader), reader, store)
        synced = Times.now()
        with writing(store.engine) as connection:
            for index in dropped:
                connection.execute(CreateIndex(index))
        created = Times.now().since(synced)
    _print_rate("synced", synced.since(start), reader.end_offset)
    if dropped:
        print(f"{len(dropped)} indexes: {created.cpu:.1f} s of CPU, {created.clock:.1f} s")
        _print_rate("both", Times.now().since(start), reader.end_offset)


def _drop_indexes(connection: Connection) -> list[Index]:
    """Drop all indexes besides the primary keys; return them."""
    present = inspect(connection)
    found = [
        index
        for table in metadata.tables.values()
        for index in table.indexes
        if index.name in {each["name"] for each in present.get_indexes(table.name)}
    ]
    for index in found:
        index.drop(connection)
    return found


def _print_rate(what: str, taken: Times, records: int) -> None:
    print(
        f"{what}: {records / taken.cpu:,.0f} records/s of this process's CPU, "
        f"{records / taken.clock:,.0f} by the clock ({taken.clock:.1f} s)"
    )


def _print(sizes: Sizes, records: int, log_bytes: int) -> None:
    total = sum(sizes.values())
    rest = 0
    for relation, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size / records < _SHOWN_FROM:
            rest += size
            continue
        print(f"{relation:<40} {size / records:8.1f} B {size / log_bytes:6.2f}")
    print(f"{'others':<40} {rest / records:8.1f} B {rest / log_bytes:6.2f}")
    print(f"{'all':<40} {total / records:8.1f} B {total / log_bytes:6.2f}")


if __name__ == "__main__":
    main()
