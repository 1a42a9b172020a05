"""Outages that began before a snapshot: the SQL history gives the same answers as a replay."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import URL

from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.brokers import BrokerRegistrationChangeRecord, FenceBrokerRecord
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.partitions import ClearElrRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.about import ConfirmedSource
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.incidents import outages
from replay.incidents.health import UNDER_REPLICATED
from replay.incidents.indexed_outages import indexed_watch
from replay.incidents.outage import Outages
from replay.incidents.outage_tracker import OutageTracker
from replay.incidents.outages import find_outages
from replay.loader import BatchSource, load_image
from replay.snapshot.database import writing
from replay.sql_history.file import HistoryFile
from replay.sql_history.server import HistoryDatabase
from replay.sql_history.store import HistoryStore
from replay.sql_sync import sync
from replay.timeline import Timeline
from replay.transactions import Transactions
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import (
    Base,
    FakeLog,
    batches,
    broker,
    change,
    namespace,
    partition,
    topic,
    uid,
)
from tests.replay.incidents.real import imported
from tests.replay.sql_history.conftest import HEAVY_ON_POSTGRESQL, ON_BOTH, emptied


class _File(HistoryFile):
    """The tables of a log in a SQLite file; counts the answers given from them."""

    used = 0


class _Database(HistoryDatabase):
    """The tables of a log in PostgreSQL; counts the answers given from them."""

    used = 0


_Index = _File | _Database


@pytest.fixture(autouse=True)
def count_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the answers for which the log was not read."""

    def counted(source: BatchSource, index: _Index, *of: Any) -> OutageTracker | None:
        found = indexed_watch(source, index, *of)
        index.used += found is not None
        return found

    monkeypatch.setattr(outages, "indexed_watch", counted)


def synced(log: ConfirmedSource, url: URL) -> _Index:
    with HistoryStore.open(url, create=True) as store:
        sync(Timeline(log), log, store)
    return index_of(log, url)


def index_of(log: BatchSource, url: URL) -> _Index:
    if url.get_backend_name() == "sqlite":
        return _File(Path(str(url.database)), log)
    return _Database(url, log)


def of_range(
    log: BatchSource,
    first: int,
    snapshot: int,
    index: _Index | None = None,
    assumed_min_isr: int | None = None,
) -> Outages:
    """Return the outages from `first` on, with a snapshot at another offset."""
    image = load_image(log, snapshot)

    def newest(at: int) -> MetadataImage | None:
        return image if snapshot <= at else None

    return find_outages(
        log,
        log.end_offset,
        from_offset=first,
        newest=newest,
        index=index,
        assumed_min_isr=assumed_min_isr,
    )


def starts(history: Sequence[Batch]) -> list[int]:
    """Return the offsets at which a history can be cut: ends of batches outside transactions."""
    transactions, found = Transactions(), list[int]()
    for each in history:
        list(transactions.effective(each.rows))
        if transactions.begin_offset is None:
            found.append(each.end_offset)
    return found


def cut(history: Sequence[Batch], start: int) -> FakeLog:
    """Return a history that starts with a base at an offset."""
    base = Base.of(load_image(FakeLog(history), start - 1))
    return FakeLog([each for each in history if each.base_offset >= start], base)


@ON_BOTH
@pytest.mark.parametrize("has_base", [False, True])
def test_ranges_of_random_histories_have_the_same_outages_as_without_the_tables(
    has_base: bool, url: URL
) -> None:
    used = 0
    for seed in range(20, 26):
        rng = random.Random(seed)
        history = random_history(rng, 60)
        log = cut(history, rng.choice(starts(history)[5:25])) if has_base else FakeLog(history)
        index = synced(log, emptied(url, str(seed)))
        for _ in range(12):
            snapshot = rng.randrange(log.history_start, log.end_offset - 1)
            first = rng.randrange(snapshot + 1, log.end_offset)
            assumed = rng.choice([None, 1, 2, 3])
            found = of_range(log, first, snapshot, index, assumed)
            expected = of_range(log, first, snapshot, None, assumed)
            assert found == expected, (seed, log.history_start, first, snapshot)
        used += index.used
    assert used > 6


def down_within(log: FakeLog) -> list[int]:
    """Return the ends of the batches, except the last, after which a partition is in an outage."""
    intervals = find_outages(log, log.end_offset).intervals
    spans = [
        (each.from_offset or log.history_start, each.to_offset or log.end_offset)
        for each in intervals
        if each.topic_id is not None
    ]
    ends = [each.end_offset - 1 for each in log.log[:-1]]
    return [end for end in ends if any(begin <= end < to for begin, to in spans)]


# In these logs no partition is ever down at the end of a batch.
_NEVER_DOWN = frozenset(
    {
        "cdc-lakehouse/kafka-data",
        *(f"kafka-raft-3node-33/data_kafka{n}" for n in (1, 2, 3)),
        "ma-prediction-history/kafka-data",
        "otus-histories/data",
        "realtime-analysis-tiny/kafka-logs",
    }
)


@HEAVY_ON_POSTGRESQL
@each_data_set
def test_ranges_of_a_real_log_with_partitions_down_before_use_the_tables(
    data_set: DataSet, tmp_path: Path, url: URL
) -> None:
    """The answers equal those of reading the log, also if its first part was replaced by a base."""
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        whole = FakeLog(tuple(reader.batches()), reader.base)
    down = down_within(whole)
    assert (not down) == (str(data_set) in _NEVER_DOWN)
    rng = random.Random(str(data_set))
    possible = [start for start in starts(whole.log) if down and start <= down[-1]]
    logs = [whole, *(cut(whole.log, each) for each in rng.sample(possible, min(len(possible), 1)))]
    for number, log in enumerate(logs):
        index = synced(log, emptied(url, str(number)))
        points = [each for each in down if each >= log.history_start]
        for snapshot in rng.sample(points, min(len(points), 2)):
            first = rng.randrange(snapshot + 1, log.end_offset)
            expected = of_range(log, first, snapshot)
            assert of_range(log, first, snapshot, index) == expected, (first, snapshot)
        assert index.used == min(len(points), 2)


DOWN = (
    (*(broker(n, fenced=False) for n in (1, 2, 3)), topic("a"), partition("a", 0)),
    (change("a", 0, isr=(1, 2)),),
    (change("a", 0, isr=(1, 2, 3)),),
    (change("a", 0, isr=(1, 3)),),
    (change("a", 0, isr=(1,)),),
)


@pytest.mark.parametrize("many", [0, 1])
def test_an_older_snapshot_is_not_loaded_where_many_partitions_are_down(
    many: int, url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "_DOWN_MANY", many)
    log, loaded = FakeLog(batches(*DOWN)), list[int]()
    index, last = synced(log, url), log.end_offset - 1

    def newest(at: int) -> MetadataImage:
        loaded.append(at)
        return load_image(log, at)

    found = find_outages(log, log.end_offset, from_offset=last, newest=newest, index=index)
    assert found == of_range(log, last, last - 1)
    assert (len(loaded), index.used) == ((1, 1) if many == 0 else (2, 0))


MOVED = MoveTopicRecord(topic_id=uid("a"), namespace_id=uid("n"), name="b")
BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()
MIN_ISR = ConfigRecord(
    resource_type=TOPIC, resource_name="a", name="min.insync.replicas", value="2"
)
REMOVED = RemovePartitionsRecord(topic_id=uid("a"), partition_ids=(0,))
AGAIN = partition("a", 0, isr=(1,))


@pytest.mark.parametrize(
    ("more", "began"),
    [
        ([], 7),
        ([ClearElrRecord(topic_name="a")], 7),
        ([namespace("n"), MOVED], 7),
        ([MIN_ISR, namespace("n"), MOVED, change("a", 0, isr=(2,))], 7),
        ([REMOVED, AGAIN], 10),
        ([change("a", 0, isr=(1, 2, 3)), BEGIN, change("a", 0, isr=(1,)), END], 11),
        ([change("a", 0, isr=(1, 2, 3)), BEGIN, REMOVED, ABORT, change("a", 0, isr=(1,))], 13),
        ([REMOVED, BEGIN, AGAIN, END], 11),
    ],
)
@pytest.mark.parametrize("base", [0, 2, 4])
@ON_BOTH
def test_outages_that_began_before_the_snapshot_come_from_the_tables(
    base: int, more: list[Record], began: int, url: URL
) -> None:
    whole = batches(*DOWN, *([each] for each in more), (change("a", 0, leader=1),))
    log = cut(whole, whole[base].base_offset) if base else FakeLog(whole)
    index = synced(log, url)
    at = log.end_offset - 1
    found = of_range(log, at, at - 1, index)
    assert found == of_range(log, at, at - 1)
    known = began if began >= log.history_start else None
    offsets = {each.from_offset for each in found.intervals if each.kind == UNDER_REPLICATED}
    assert offsets == {known}
    assert index.used == 1


@pytest.mark.parametrize("gone", [RemoveTopicRecord(topic_id=uid("a")), MOVED])
def test_a_topic_that_took_a_name_of_the_base_is_found_in_the_tables(
    gone: Record, url: URL
) -> None:
    new = (topic("a", topic_id="new"), partition("new", 0, isr=(1,)))
    whole = batches((*DOWN[0], namespace("n")), (gone,), new, (change("new", 0, leader=1),))
    log = cut(whole, whole[1].base_offset)
    index = synced(log, url)
    at = log.end_offset - 1
    found = of_range(log, at, at - 1, index)
    assert [(each.object, each.from_offset) for each in found.intervals] == [("partition:a/0", 8)]
    assert found == of_range(log, at, at - 1)
    assert index.used == 1


def test_a_broker_record_that_changed_nothing_is_a_cause_as_without_the_tables(url: URL) -> None:
    stops = BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=10, in_controlled_shutdown=1)
    history = batches(
        (*DOWN[0], broker(3, fenced=False, in_controlled_shutdown=True)),
        (stops,),
        (change("a", 0, isr=(1, 2)),),
        (change("a", 0, leader=1),),
    )
    log = FakeLog(history)
    index = synced(log, url)
    at = log.end_offset - 1
    found = of_range(log, at, at - 1, index)
    (cause,) = {each.cause for each in found.intervals if each.object == "partition:a/0"}
    assert cause is not None
    assert cause.offset == history[1].base_offset
    assert index.used == 1


@pytest.mark.parametrize(
    "more",
    [
        [(BEGIN, REMOVED, AGAIN, END)],
        [(MIN_ISR,), (BEGIN, msgspec.structs.replace(MIN_ISR, value=None), END)],
    ],
)
def test_the_log_is_read_where_states_do_not_show_what_a_transaction_did(
    more: list[Sequence[Record]], url: URL
) -> None:
    log = FakeLog(batches(*DOWN, *more, (change("a", 0, leader=1),)))
    index = synced(log, url)
    at = log.end_offset - 1
    assert of_range(log, at, at - 1, index) == of_range(log, at, at - 1)
    assert index.used == 0


def test_a_transaction_of_several_batches_that_fences_a_broker_is_a_cause_as_without_the_tables(
    url: URL,
) -> None:
    history = batches(
        DOWN[0],
        (BEGIN,),
        (change("a", 0, isr=(1, 2)), broker(4)),
        (FenceBrokerRecord(id=3, epoch=10), END, change("a", 0, isr=(1,))),
        (change("a", 0, leader=1),),
    )
    log = FakeLog(history)
    index = synced(log, url)
    at = log.end_offset - 1
    found = of_range(log, at, at - 1, index)
    (began,) = (each for each in found.intervals if each.object == "partition:a/0")
    assert began.cause is not None
    assert began.cause.text.startswith("broker 3 was fenced")
    assert began.from_offset == history[2].base_offset
    assert found == of_range(log, at, at - 1)
    assert index.used == 1


def test_the_log_is_read_where_the_tables_end_before_the_snapshot(url: URL) -> None:
    history = batches(*DOWN, (change("a", 0, leader=1),), (change("a", 0, leader=1),))
    synced(FakeLog(history[:3]), url)
    log = FakeLog(history)
    index = index_of(log, url)
    at = log.end_offset - 1
    assert of_range(log, at, at - 1, index) == of_range(log, at, 0)
    assert index.used == 0


@ON_BOTH
def test_the_log_is_read_where_replicas_are_missing_from_the_tables(url: URL) -> None:
    log = FakeLog(batches(*DOWN, (change("a", 0, leader=1),)))
    index = synced(log, url)
    with HistoryStore.open(url) as store, writing(store.engine) as connection:
        if url.get_backend_name() == "postgresql":
            connection.exec_driver_sql("SET session_replication_role = replica")
        connection.exec_driver_sql("DELETE FROM replica_set WHERE isr_count = 2")
    at = log.end_offset - 1
    assert of_range(log, at, at - 1, index) == of_range(log, at, at - 1)
    assert index.used == 0
