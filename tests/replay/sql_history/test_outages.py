"""Outages that began before a snapshot: the SQL history gives the answers of a replay."""

import random
from collections.abc import Sequence
from itertools import count, islice
from pathlib import Path

import pytest
from sqlalchemy import URL

from metadata_log.batch import Batch
from metadata_log.log_reader import LogReader
from records.base import Record
from records.control import BeginTransactionRecord
from records.partitions import ClearElrRecord
from records.topics import MoveTopicRecord
from replay.about import ConfirmedSource
from replay.image.metadata import MetadataImage
from replay.incidents.outage import Outages
from replay.incidents.outages import find_outages
from replay.loader import BatchSource, load_image
from replay.sql_history.file import HistoryFile
from replay.sql_history.store import HistoryStore
from replay.sql_history.sync import sync
from replay.time_travel.change_index import FoundStates
from replay.timeline import Timeline
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog, batches, broker, change, partition, topic, uid
from tests.replay.incidents.real import imported


class _Counted(HistoryFile):
    """Counts the questions that the tables answered."""

    used = 0

    def outage_beginnings(self, at: int, assumed_min_isr: int | None) -> FoundStates | None:
        found = super().outage_beginnings(at, assumed_min_isr)
        self.used += found is not None
        return found


def synced(log: ConfirmedSource, url: URL) -> _Counted:
    with HistoryStore.open(url, create=True) as store:
        sync(Timeline(log), log, store)
    return _Counted(Path(str(url.database)), log)


def of_range(
    log: BatchSource, first: int, snapshot: int, index: HistoryFile | None = None
) -> Outages:
    """Return the outages from an offset on, with a snapshot at another."""
    image = load_image(log, snapshot)

    def newest(at: int) -> MetadataImage | None:
        return image if snapshot <= at else None

    return find_outages(log, log.end_offset, from_offset=first, newest=newest, index=index)


def sure_until(history: Sequence[Batch]) -> int:
    """Return the offset of the first record after which the tables are not used."""
    unsure = (BeginTransactionRecord, ClearElrRecord, MoveTopicRecord)
    rows = [row for each in history for row in each.rows]
    return next((row.offset for row in rows if isinstance(row.payload, unsure)), len(rows))


def test_ranges_of_random_histories_have_the_same_outages_as_without_the_tables(url: URL) -> None:
    histories = (random_history(random.Random(seed), 40) for seed in count())
    rng, used = random.Random(1), list[int]()
    for history in islice((each for each in histories if sure_until(each) >= 25), 10):
        log = FakeLog(history)
        index = synced(log, url.set(database=f"{url.database}-{len(used)}"))
        for _ in range(20):
            snapshot = rng.randrange(5, sure_until(history))
            first = rng.randrange(snapshot + 1, log.end_offset)
            found = of_range(log, first, snapshot, index)
            assert found == of_range(log, first, 0), (history[-1].end_offset, first, snapshot)
        used.append(index.used)
    assert sum(used) > 30


@each_data_set
def test_ranges_of_a_real_log_have_the_same_outages_as_without_the_tables(
    data_set: DataSet, tmp_path: Path, url: URL
) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        index = synced(reader, url)
        rng = random.Random(str(data_set))
        for _ in range(3):
            first = rng.randrange(reader.history_start + 1, reader.end_offset)
            snapshot = rng.randrange(reader.history_start, first)
            expected = of_range(reader, first, snapshot)
            assert of_range(reader, first, snapshot, index) == expected, (first, snapshot)


DOWN = (
    (*(broker(n, fenced=False) for n in (1, 2, 3)), topic("a"), partition("a", 0)),
    (change("a", 0, isr=(1, 2)),),
    (change("a", 0, isr=(1, 2, 3)),),
    (change("a", 0, isr=(1, 3)),),
    (change("a", 0, isr=(1,)),),
)


@pytest.mark.parametrize(
    ("more", "is_used"),
    [
        ([], True),
        ([ClearElrRecord(topic_name="a")], False),
        ([MoveTopicRecord(topic_id=uid("a"), namespace_id=None, name="b")], False),
    ],
)
def test_the_log_is_read_where_the_tables_do_not_tell_what_mattered(
    more: list[Record], is_used: bool, url: URL
) -> None:
    log = FakeLog(batches(*DOWN, *([each] for each in more), (change("a", 0, leader=1),)))
    index = synced(log, url)
    at = log.end_offset - 1
    found = of_range(log, at, at - 1, index)
    assert found == of_range(log, at, 0)
    assert [(each.from_offset, each.brokers) for each in found.intervals] == [(7, (2, 3))]
    assert index.used == is_used


def test_the_log_is_read_where_the_tables_end_before_the_snapshot(url: URL) -> None:
    history = batches(*DOWN, (change("a", 0, leader=1),), (change("a", 0, leader=1),))
    synced(FakeLog(history[:3]), url)
    log = FakeLog(history)
    index = _Counted(Path(str(url.database)), log)
    at = log.end_offset - 1
    assert of_range(log, at, at - 1, index) == of_range(log, at, 0)
    assert index.used == 0
