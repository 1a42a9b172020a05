"""The tables have every state of every object, from each record once, whatever interrupts a
sync.
"""

import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from sqlalchemy import URL, text

from metadata_log.format.batch import Batch
from records.base import Record
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.envelope import Origin
from records.errors import (
    ContradictionError,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)
from records.partitions import DeleteTopicPartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay import sql_sync as sync_module
from replay.image.configs import TOPIC
from replay.image.digest import image_digest
from replay.sql_history import changes
from replay.sql_history.pending import Pending
from replay.sql_history.store import HistoryStore
from replay.sql_sync import Synced, check_same_log, sync
from replay.time_travel.effects import WITHOUT_EFFECT
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import Base, FakeLog, batch, batches, change, partition, topic, uid
from tests.replay.sql_history.conftest import ON_BOTH

pytestmark = ON_BOTH


def synced(log: FakeLog, store: HistoryStore) -> Synced:
    return sync(Timeline(log), log, store)


def rows(store: HistoryStore, query: str) -> list[tuple[Any, ...]]:
    with store.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def assert_same_digests(log: FakeLog, store: HistoryStore, offsets: Iterable[int]) -> None:
    for at in offsets:
        assert store.digest(at) == image_digest(Timeline(log).image(at)), at


@pytest.mark.parametrize("seed", range(3))
def test_state_at_any_offset_is_that_of_replay(seed: int, store: HistoryStore) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 40))
    found = synced(log, store)
    assert_same_digests(log, store, [-1, *rng.sample(range(found.to_offset), 30)])


@pytest.mark.parametrize("seed", range(3))
def test_a_log_that_grows_is_synced_in_any_parts(
    seed: int, store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(sync_module, "_TRANSACTION_ROWS", 1)
    monkeypatch.setattr(changes, "RUN_ROWS_MAX", 3)
    history = random_history(rng, 30)
    recorded, end = 0, 0
    while end < len(history):
        end = min(len(history), end + rng.randint(1, 12))
        found = synced(FakeLog(history[:end]), store)
        recorded += found.changes
    log = FakeLog(history)
    assert_same_digests(log, store, rng.sample(range(found.to_offset), 15))
    # Each record that can change something is there once; those of an open transaction are not.
    kept = [row for each in history for row in each.rows if row.offset < found.to_offset]
    expected = [row.offset for row in kept if type(row.payload) not in WITHOUT_EFFECT]
    assert [
        offset for (offset,) in rows(store, 'SELECT "offset" FROM change ORDER BY 1')
    ] == expected
    assert recorded == len(expected)


def test_the_sign_of_zero_is_a_state_of_its_own(store: HistoryStore) -> None:
    quota = [
        ClientQuotaRecord(
            entity=(EntityData(entity_type="user", entity_name="ann"),),
            key="producer_byte_rate",
            value=value,
            remove=False,
        )
        for value in (0.0, -0.0, math.nan, -math.nan, 0.0)
    ]
    log = FakeLog(batches(*((each,) for each in quota)))
    synced(log, store)
    assert_same_digests(log, store, range(5))


def test_a_second_sync_adds_nothing(store: HistoryStore) -> None:
    log = FakeLog(random_history(random.Random(1), 30))
    first = synced(log, store)
    position = store.position()
    again = synced(log, store)
    assert store.position() == position
    assert (again.from_offset, again.to_offset, again.changes, again.rows) == (
        first.to_offset,
        first.to_offset,
        0,
        {},
    )


def test_records_of_one_object_are_written_in_several_transactions(
    store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each change of the same partition begins a new run.
    monkeypatch.setattr(sync_module, "_TRANSACTION_ROWS", 1)
    monkeypatch.setattr(changes, "RUN_ROWS_MAX", 3)
    changed = ((change("orders", 0, leader=1 + number % 3),) for number in range(10))
    log = FakeLog(batches((topic("orders"), partition("orders", 0)), *changed))
    ends: list[int] = []
    sync(Timeline(log), log, store, ends.append)
    assert ends == [3, 6, 9, 12]


class _Death(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("step", range(3))
def test_a_process_that_dies_leaves_whole_transactions(
    step: int, url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FakeLog(random_history(random.Random(3), 12))
    monkeypatch.setattr(sync_module, "_TRANSACTION_ROWS", 1)
    monkeypatch.setattr(changes, "RUN_ROWS_MAX", 1)
    with HistoryStore.open(url, create=True) as store:
        dying = _dying(Pending.write, after=step)
        with monkeypatch.context() as patch:
            patch.setattr(Pending, "write", dying)
            with pytest.raises(_Death):
                synced(log, store)
    with HistoryStore.open(url) as store:
        before = check_same_log(log, store)
        found = synced(log, store)
        assert found.from_offset == (0 if before is None else before.end_offset)
        assert_same_digests(log, store, range(-1, found.to_offset, 7))


def _dying(write: Callable[..., None], after: int) -> Callable[..., None]:
    left = after

    def dying(self: Any, connection: Any) -> None:
        nonlocal left
        write(self, connection)
        left -= 1
        if left < 0:
            raise _Death

    return dying


def test_a_record_of_a_transaction_holds_from_its_end_on(store: HistoryStore) -> None:
    log = FakeLog(
        batches(
            (topic("orders"), partition("orders", 0)),
            (BeginTransactionRecord(name=None), change("orders", 0, leader=3)),
            (EndTransactionRecord(), topic("late")),
        )
    )
    synced(log, store)
    assert rows(
        store,
        "SELECT leader, record_offset, valid_from_offset, valid_to_offset FROM partition_version "
        "ORDER BY record_offset",
    ) == [(1, 1, 1, 4), (3, 3, 4, None)]
    assert rows(store, 'SELECT effective_offset FROM change WHERE "offset" = 3') == [(4,)]


def test_an_aborted_record_is_told_and_changes_nothing(store: HistoryStore) -> None:
    log = FakeLog(
        batches(
            (topic("orders"), partition("orders", 0)),
            (BeginTransactionRecord(name=None), change("orders", 0, leader=3)),
            (AbortTransactionRecord(reason=None),),
        )
    )
    synced(log, store)
    assert rows(store, "SELECT leader, valid_to_offset FROM partition_version") == [(1, None)]
    assert rows(store, 'SELECT effective_offset FROM change WHERE "offset" = 3') == [(None,)]


def test_an_open_transaction_is_added_when_it_has_ended(store: HistoryStore) -> None:
    history = batches(
        (topic("orders"), BeginTransactionRecord(name=None), topic("late")),
        (EndTransactionRecord(),),
    )
    assert synced(FakeLog(history[:1]), store).to_offset == 1
    assert synced(FakeLog(history), store).to_offset == 4
    assert rows(store, "SELECT name, valid_from_offset FROM topic_version ORDER BY 2") == [
        ("orders", 0),
        ("late", 3),
    ]


def test_states_of_a_base_begin_at_an_unknown_time(store: HistoryStore) -> None:
    log = FakeLog(
        batches((change("orders", 0, leader=2),), base_offset=100),
        Base(100, (topic("orders"), partition("orders", 0))),
    )
    synced(log, store)
    found = (
        "SELECT leader, valid_from_offset, valid_from_time, valid_to_offset FROM partition_version"
    )
    assert rows(store, f"{found} ORDER BY record_offset")[0] == (1, 99, None, 100)
    assert_same_digests(log, store, (99, 100))
    with pytest.raises(UnknownHistoryError, match="offset 98 is unknown: the tables start at 100"):
        store.digest(98)


def test_a_point_past_the_tables_is_refused(store: HistoryStore) -> None:
    for end in (0, 2):
        with pytest.raises(RequestError, match=rf"they end at {end} .*metalog sql sync"):
            store.digest(2)
        synced(FakeLog(batches((topic("orders"), topic("more")))), store)


def test_another_log_is_refused_and_changes_nothing(store: HistoryStore) -> None:
    mine = batches((topic("orders"),), (topic("more"),))
    synced(FakeLog(mine), store)
    before = store.position()
    others = {
        "of cluster test-cluster, but the log is of other": FakeLog(mine, cluster_id="other"),
        "below offset 2, the log has another history than": FakeLog(
            batches((topic("a"),), (topic("b"),))
        ),
        "up to 2, the log only to 1": FakeLog(mine[:1]),
    }
    for why, log in others.items():
        with pytest.raises(RequestError, match=why) as refused:
            synced(log, store)
        assert refused.value.code == "WRONG_LOG"
        assert store.position() == before


def test_history_that_the_log_lost_meanwhile_is_told(store: HistoryStore) -> None:
    synced(FakeLog(batches((topic("orders"),))), store)
    later = FakeLog(batches((topic("more"),), base_offset=9), Base(9, (topic("orders"),)))
    with pytest.raises(UnknownHistoryError, match="the tables end at 1, and the log starts at 9"):
        synced(later, store)


@pytest.mark.parametrize(
    "impossible",
    [
        RemoveTopicRecord(topic_id=uid("nothing")),
        MoveTopicRecord(topic_id=uid("orders"), name="orders", namespace_id=uid("nothing")),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_contradiction_is_named(store: HistoryStore, impossible: Record) -> None:
    log = FakeLog(batches((topic("orders"), topic("more")), (impossible,), (topic("no"),)))
    for _ in range(2):
        with pytest.raises(ContradictionError, match=f"offset 2: {type(impossible).__name__}"):
            synced(log, store)
        assert_same_digests(FakeLog(log.log[:1]), store, range(2))


@pytest.mark.parametrize(("is_open", "end_offset"), [(False, 3), (True, 2)])
def test_all_before_a_contradiction_in_a_batch_is_added(
    store: HistoryStore, is_open: bool, end_offset: int
) -> None:
    nothing = RemoveTopicRecord(topic_id=uid("nothing"))
    begin = BeginTransactionRecord(name=None) if is_open else topic("third")
    rows = (topic("orders"), topic("more"), begin, nothing, EndTransactionRecord())
    with pytest.raises(ContradictionError, match="offset 3"):
        synced(FakeLog(batches(rows)), store)
    position = store.position()
    assert position is not None
    assert position.end_offset == end_offset


def test_what_a_removed_topic_got_in_the_same_batch_has_ended(store: HistoryStore) -> None:
    config = ConfigRecord(
        resource_type=TOPIC, resource_name="orders", name="retention.ms", value="1"
    )
    pending = DeleteTopicPartitionsRecord(
        topic_id=uid("orders"), partition_ids=(0,), delay_ms=1, create_time_ms=0
    )
    removed = RemoveTopicRecord(topic_id=uid("orders"))
    made = (topic("orders"), partition("orders", 0))
    log = FakeLog(batches((*made, config, pending, removed, *made, config), (pending, removed)))
    synced(log, store)
    assert_same_digests(log, store, range(10))


def test_two_at_once_add_each_record_once(url: URL, monkeypatch: pytest.MonkeyPatch) -> None:
    log = FakeLog(random_history(random.Random(5), 12))
    monkeypatch.setattr(sync_module, "_TRANSACTION_ROWS", 1)
    monkeypatch.setattr(changes, "RUN_ROWS_MAX", 1)
    with HistoryStore.open(url, create=True) as one, HistoryStore.open(url) as two:
        found: list[Synced] = []

        def interrupt(_: int) -> None:
            if not found:
                found.append(synced(log, two))

        with pytest.raises(UnavailableError, match="another process is syncing"):
            sync(Timeline(log), log, one, interrupt)
        assert found[0].changes > 0
        assert_same_digests(log, one, range(-1, found[0].to_offset, 9))


def test_who_and_why_stand_beside_each_record(store: HistoryStore) -> None:
    origin = Origin(principal="User:ann", command="topics create", reason="CHG-7", request_id="r1")
    made = batch(0, topic("orders"))
    log = FakeLog([Batch.of([msgspec.structs.replace(row, origin=origin) for row in made.rows])])
    synced(log, store)
    assert rows(store, "SELECT principal, command, reason, request_id, record FROM change") == [
        ("User:ann", "topics create", "CHG-7", "r1", "TopicRecord")
    ]
