"""The views for users, compared with answers computed from images."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from alembic import command
from sqlalchemy import text

from records.control import BeginTransactionRecord, EndTransactionRecord, NoOpRunRecord
from records.topics import MoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.records import image_records
from replay.snapshot.database import writing
from replay.sql_history.store import HistoryStore
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import (
    Base,
    FakeLog,
    batch,
    batches,
    change,
    namespace,
    partition,
    topic,
    uid,
)
from tests.replay.planned_removal import OUTAGES, REMOVED, SHRUNK
from tests.replay.sql_history.by_replay import outages_by_replay, outages_of_view
from tests.replay.sql_history.conftest import ON_BOTH
from tests.replay.sql_history.test_schema import alembic_config

pytestmark = ON_BOTH


def rows(store: HistoryStore, query: str) -> list[tuple[Any, ...]]:
    with store.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def _is_leaderless(partition: Partition) -> bool:
    return partition.leader == -1 and not _is_offline(partition)


def _is_under_replicated(partition: Partition) -> bool:
    assigned = len(partition.replicas) - len(partition.adding_replicas)
    return len(partition.isr) < assigned and not _is_offline(partition)


def _is_offline(partition: Partition) -> bool:
    """True if a partition was taken offline to be removed."""
    return (partition.mode, partition.leader) == (-1, -1)


_KINDS = {"leaderless": _is_leaderless, "under_replicated": _is_under_replicated}


def _states(log: FakeLog, end_offset: int) -> Iterator[tuple[int, MetadataImage]]:
    image = MetadataImage.EMPTY
    for offset in range(end_offset):
        image = Timeline(log).image(offset)
        yield offset, image


def outages(log: FakeLog, end_offset: int) -> set[tuple[str, int, int | None]]:
    """Return the kind, start and end of each outage, found by checking every image."""
    found: set[tuple[str, int, int | None]] = set()
    open_: dict[tuple[str, bytes, int], int] = {}
    for offset, image in _states(log, end_offset):
        now = {
            (kind, each.topic_id, each.partition_id)
            for kind, holds in _KINDS.items()
            for known in image.topics()
            for each in image.partitions(known.topic_id)
            if holds(each)
        }
        for key in open_.keys() - now:
            found.add((key[0], open_.pop(key), offset))
        for key in now - open_.keys():
            open_[key] = offset
    return found | {(key[0], begin, None) for key, begin in open_.items()}


def test_outages_are_those_that_every_image_shows(store: HistoryStore) -> None:
    log = FakeLog(random_history(random.Random(11), 40))
    end_offset = sync(Timeline(log), log, store).to_offset
    expected = outages(log, end_offset)
    assert {kind for kind, _, _ in expected} == _KINDS.keys()
    assert set(rows(store, "SELECT kind, from_offset, to_offset FROM outages")) == expected


@pytest.mark.parametrize("seed", range(3))
def test_outages_are_those_of_the_command(seed: int, store: HistoryStore) -> None:
    rng = random.Random(seed)
    history = random_history(rng, 120)
    log = FakeLog(history)
    if seed:
        image = Timeline(log).image(history[40].base_offset - 1)
        if image.provenance.pending_transaction is None:
            records = tuple(record for record, _ in image_records(image))
            log = FakeLog(history[40:], Base(history[40].base_offset, records))
    end_offset = sync(Timeline(log), log, store).to_offset
    expected = outages_by_replay(store, log, end_offset)
    assert {interval[3] for interval in expected} == _KINDS.keys()
    assert outages_of_view(store) == expected


def test_an_outage_in_progress_lasts_up_to_the_last_record(store: HistoryStore) -> None:
    down = change("orders", 0, leader=-1)
    noops = NoOpRunRecord(count=50, batch_count=50, last_timestamp=9_000)
    log = FakeLog(batches((topic("orders"), partition("orders", 0), down), (noops,)))
    sync(Timeline(log), log, store)
    durations = "SELECT from_time, to_time, duration_ms FROM outages WHERE kind = 'leaderless'"
    assert rows(store, durations) == [(0, None, 9_000)]
    grown = FakeLog([*log.batches(), batch(53, change("orders", 0, leader=1), timestamp=11_000)])
    sync(Timeline(grown), grown, store)
    assert rows(store, durations) == [(0, 11_000, 11_000)]


def test_a_planned_removal_is_no_outage(store: HistoryStore) -> None:
    log = FakeLog(batches(*SHRUNK, (REMOVED,)))
    end_offset = sync(Timeline(log), log, store).to_offset
    found = set(rows(store, "SELECT kind, partition_id, from_offset, to_offset FROM outages"))
    assert found == OUTAGES
    assert outages_of_view(store) == outages_by_replay(store, log, end_offset)


def test_partitions_that_are_being_removed_are_not_counted_as_down(store: HistoryStore) -> None:
    log = FakeLog(batches(*SHRUNK))
    sync(Timeline(log), log, store)
    flags = "SELECT partition_id, leaderless, under_replicated, mode FROM {} WHERE {} ORDER BY 1"
    assert rows(store, flags.format("partitions_now", "leader = -1")) == [
        (0, 1, 0, 0),
        *((number, 0, 0, -1) for number in (1, 2, 3)),
    ]
    before = "valid_from_offset = 9 OR valid_from_offset = 10"
    assert rows(store, flags.format("partition_states", before)) == [(2, 1, 1, 1), (3, 0, 1, 1)]
    assert rows(store, "SELECT * FROM under_replicated") == []


def test_an_upgrade_leaves_planned_removals_out(store: HistoryStore) -> None:
    log = FakeLog(batches(*SHRUNK))
    sync(Timeline(log), log, store)
    config = alembic_config()
    found = []
    with writing(store.engine) as connection:
        config.attributes["connection"] = connection
        for change_revision, revision in ((command.downgrade, "0012"), (command.upgrade, "head")):
            change_revision(config, revision)
            found.append(sorted(connection.execute(text(_ONGOING)).scalars()))
    assert found == [[0, 1, 1, 2, 2, 3, 3], [0]]


_ONGOING = "SELECT partition_id FROM outages WHERE ongoing = 1"


def test_names_are_full_and_those_of_then(store: HistoryStore) -> None:
    log = FakeLog(
        batches(
            (namespace("org"), topic("orders", namespace="org"), partition("orders", 0)),
            (topic("plain"), partition("plain", 0), change("plain", 0, isr=(), leader=-1)),
        )
    )
    sync(Timeline(log), log, store)
    assert rows(store, "SELECT topic FROM topics_now ORDER BY 1") == [("org:orders",), ("plain",)]
    assert rows(store, "SELECT topic, leader FROM partitions_now ORDER BY 1") == [
        ("org:orders", 1),
        ("plain", -1),
    ]
    assert rows(store, "SELECT topic, partition_id FROM under_replicated") == [("plain", 0)]
    assert rows(store, "SELECT record, changes FROM changes_by_principal ORDER BY 1")[0] == (
        "NamespaceRecord",
        1,
    )


def test_a_topic_that_moved_has_its_new_name_now_and_one_outage(store: HistoryStore) -> None:
    log = FakeLog(
        batches(
            (topic("old"), partition("old", 0), change("old", 0, isr=(), leader=-1)),
            (MoveTopicRecord(topic_id=uid("old"), namespace_id=None, name="new"),),
            (change("old", 0, isr=(2,)),),
            (change("old", 0, leader=2),),
        )
    )
    sync(Timeline(log), log, store)
    for view in ("topics_now", "partitions_now", "under_replicated"):
        assert rows(store, f"SELECT topic FROM {view}") == [("new",)], view
    assert rows(
        store, "SELECT topic, from_offset, to_offset FROM outages WHERE kind = 'leaderless'"
    ) == [("old", 2, 5)]


def test_what_a_transaction_overwrites_is_no_outage(store: HistoryStore) -> None:
    log = FakeLog(
        batches(
            (topic("orders"), partition("orders", 0)),
            (
                BeginTransactionRecord(name=None),
                change("orders", 0, isr=(), leader=-1),
                change("orders", 0, isr=(1, 2, 3), leader=1),
                EndTransactionRecord(),
            ),
        )
    )
    sync(Timeline(log), log, store)
    assert rows(store, "SELECT * FROM outages") == []


def test_an_outage_of_before_the_kept_history_has_no_begin(store: HistoryStore) -> None:
    base = Base(9, (topic("orders"), partition("orders", 0, isr=(), leader=-1)))
    log = FakeLog(
        batches((change("orders", 0, isr=(2,)),), (change("orders", 0, leader=2),), base_offset=9),
        base,
    )
    sync(Timeline(log), log, store)
    assert rows(
        store, "SELECT from_offset, to_offset, from_time, duration_ms FROM outages ORDER BY kind"
    )[0] == (8, 10, None, None)
