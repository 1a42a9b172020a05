"""Filling the SQL history, and reading the history of one object from it.

Filling is compared with a replay of the log plus bare inserts of the same rows; reading is compared
with a replay.
"""

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks.generated_log import write_log
from benchmarks.harness import Result, cpu_seconds, milliseconds
from benchmarks.python_replay import PEER, collecting_seldom, replay_seconds
from metadata_log.reader.log_reader import LogReader
from replay.incidents.outage import Outage
from replay.loader import load_image
from replay.snapshot.ports import SNAPSHOTS_NAME
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.sql_history.store import HistoryStore, default_url
from replay.sql_sync import sync
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline

_SYNC_RECORDS = 100_000
_HISTORY_RECORDS = 1_000_000
_RATE_TARGET = 30_000
_SIZE_TARGET_BYTES = 260
_HISTORY_TARGET = 0.02
# The last offset of a batch, at which 39,000 of 106,000 partitions are down, and a range after it.
# Inside a batch the snapshot would not be used.
_SNAPSHOT_AT = 900_018
_OUTAGES_FROM, _OUTAGES_TO = 902_000, 904_000
_OUTAGES_TARGET_S = 1.5


def run(scratch: Path) -> list[Result]:
    """Measure processor time on own logs of generated records, in batches of 27."""
    return [*_sync(scratch / "small"), *_history(scratch / "large")]


def _sync(log: Path) -> list[Result]:
    asyncio.run(write_log(log, _SYNC_RECORDS))
    with LogReader.open(log) as reader:
        database = Path(str(default_url(log).database))
        with HistoryStore.open(default_url(log), create=True) as store:
            timeline = Timeline(reader)
            sync_s = cpu_seconds(lambda: sync(timeline, reader, store))
        replay_s = replay_seconds(reader)
    insert_s = _bare_inserts(database, log / "bare.db")
    floor_s = replay_s + insert_s
    size = database.stat().st_size / _SYNC_RECORDS
    return [
        Result(
            name=f"SQL history, sync / {PEER} and bare inserts of its rows",
            ours=f"{sync_s:.2f} s",
            peer=f"{replay_s:.2f} + {insert_s:.2f} s",
            ratio=sync_s / floor_s,
        ),
        Result(
            name=f"SQL history, sync / {_RATE_TARGET:,} records/s",
            ours=f"{_SYNC_RECORDS / sync_s:,.0f}/s",
            ratio=_SYNC_RECORDS / sync_s / _RATE_TARGET,
            target=1.0,
        ),
        Result(
            name=f"SQL history, bytes a record / {_SIZE_TARGET_BYTES}",
            ours=f"{size:.0f} B",
            ratio=size / _SIZE_TARGET_BYTES,
            target=1.0,
            at_most=True,
        ),
    ]


def _history(log: Path) -> list[Result]:
    asyncio.run(write_log(log, _HISTORY_RECORDS))
    with LogReader.open(log) as reader:
        with HistoryStore.open(default_url(log), create=True) as store:
            sync(Timeline(reader), reader, store)
        topic = min(load_image(reader).topics(), key=lambda each: each.name)
        name = parse_object(f"partition:{topic.name}/0")
        with collecting_seldom():
            history_s = cpu_seconds(lambda: list(Timeline.of(reader).history(name)))
            replay_s = replay_seconds(reader)
            outages = _outages(reader, log)
    return [
        Result(
            name=f"history of a partition with tables / {PEER} of {_HISTORY_RECORDS:,}",
            ours=milliseconds([history_s]),
            peer=milliseconds([replay_s]),
            ratio=history_s / replay_s,
            target=_HISTORY_TARGET,
            at_most=True,
        ),
        outages,
    ]


def _outages(reader: LogReader, log: Path) -> Result:
    """Measure the outages of a range before which many partitions are down, from a snapshot."""
    (batch,) = reader.batches(_SNAPSHOT_AT, _SNAPSHOT_AT + 1)
    assert batch.end_offset == _SNAPSHOT_AT + 1, "the snapshot lies inside a batch"
    url = f"sqlite:///{log / SNAPSHOTS_NAME}"
    with SnapshotStore.open(url, reader.cluster_id, upgrade=True) as snapshots:
        create_snapshot(reader, snapshots, _SNAPSHOT_AT)
    found: list[Outage] = []
    seconds = cpu_seconds(
        lambda: found.extend(Timeline.of(reader).outages(_OUTAGES_FROM, _OUTAGES_TO).intervals)
    )
    return Result(
        name=f"{len(found):,} outages of a range of {_OUTAGES_TO - _OUTAGES_FROM:,} with tables",
        ours=f"{seconds:.2f} s",
        peer=f"{_OUTAGES_TARGET_S} s",
        ratio=seconds / _OUTAGES_TARGET_S,
        target=1.0,
        at_most=True,
    )


def _bare_inserts(filled: Path, empty: Path) -> float:
    """Return the processor time SQLite takes to insert the same rows into equal tables."""
    with closing(sqlite3.connect(filled)) as source, closing(sqlite3.connect(empty)) as target:
        target.execute("PRAGMA journal_mode = WAL")
        target.execute("PRAGMA synchronous = NORMAL")
        tables = source.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name LIKE '%\\_version' "
            "ESCAPE '\\' AND name NOT LIKE 'metalog%' OR name = 'change'"
        ).fetchall()
        spent = 0.0
        for name, statement in tables:
            target.execute(statement)
            rows = source.execute(f"SELECT * FROM {name}").fetchall()
            if rows:
                insert = f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})"
                spent += cpu_seconds(partial(_insert, target, insert, rows))
    return spent


def _insert(target: sqlite3.Connection, statement: str, rows: list[tuple[object, ...]]) -> None:
    with target:
        target.executemany(statement, rows)
