"""The benchmarks are fair: every side stores the same records, and the results are checked."""

import itertools
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from benchmarks.changes import partition_changes
from benchmarks.harness import Contender, Result, median_ratio, rates_in_turn
from benchmarks.own_log import OwnLog
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.event_store import EventStore
from benchmarks.peers.server_process import PeerMissing, running
from benchmarks.peers.sqlite import RawSqlite
from metadata_log.reader.log_reader import LogReader
from records.avro.codec import decode_rows
from records.base import Record

_CHANGES = list(itertools.islice(partition_changes(), 60))


def stored(path: Path, query: str) -> list[Record]:
    """The records of the rows that a query finds."""
    with sqlite3.connect(path) as connection:
        found = [row for (row,) in connection.execute(query)]
    connection.close()
    return [decode_rows(row, 1)[0].payload for row in found]


def test_log_stores_the_changes(tmp_path: Path) -> None:
    with OwnLog(tmp_path / "log") as log:
        log.append(60, callers=4, batch_records=10)
    with LogReader.open(tmp_path / "log") as reader:
        assert [row.payload for batch in reader.batches(1) for row in batch.rows] == _CHANGES


@pytest.mark.parametrize("batch_records", [1, 10])
def test_raw_sqlite_stores_the_same_changes(tmp_path: Path, batch_records: int) -> None:
    with RawSqlite(tmp_path / "raw.db") as raw:
        raw.append(60, batch_records=batch_records)
    assert stored(tmp_path / "raw.db", "SELECT stored FROM log ORDER BY offset") == _CHANGES


@pytest.mark.parametrize(("callers", "batch_records"), [(1, 10), (8, 1)])
def test_event_store_stores_the_same_changes(
    tmp_path: Path, callers: int, batch_records: int
) -> None:
    with EventStore(tmp_path / "events.db") as store:
        store.append(60, callers=callers, batch_records=batch_records)
    found = stored(tmp_path / "events.db", "SELECT state FROM stored_events")
    assert sorted(map(str, found)) == sorted(map(str, _CHANGES))


def test_changes_name_a_leader_of_the_isr() -> None:
    for change in itertools.islice(partition_changes(), 5_000):
        assert change.isr
        assert change.leader in (-2, *change.isr)


def test_missing_server_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PeerMissing, match=r"install_peers\.sh"), Etcd.started(tmp_path):
        pass


def test_server_that_exits_at_once_is_reported_with_its_last_line(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no such setting >&2; exit 3"]
    with (
        pytest.raises(RuntimeError, match="sh did not start: no such setting"),
        running(command, tmp_path / "log", lambda: False),
    ):
        pass


def test_without_a_peer_nothing_is_judged() -> None:
    assert Result(name="append", ours="1/s", peer="not installed", target=5).met is None


def test_sides_run_in_turn_and_are_compared_round_by_round() -> None:
    order: list[str] = []
    sides = {name: Contender(10, partial(order.append, name)) for name in ("ours", "peer")}
    rates = rates_in_turn(sides, rounds=2, warmups=1)
    assert order == ["ours", "peer"] * 3
    assert [len(found) for found in rates.values()] == [2, 2]
    assert median_ratio([10.0, 30.0, 20.0], [10.0, 10.0, 10.0]) == 2.0
