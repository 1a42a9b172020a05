"""History and blame: which record changed what."""

import random

import pytest

from records.base import Record
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoteRecord,
)
from records.errors import RequestError, UnknownHistoryError
from records.topics import RemoveTopicRecord
from replay.image.metadata import MetadataDelta, MetadataImage
from replay.image.provenance import Provenance
from replay.time_travel.diff import diff_images
from replay.time_travel.history import _TOUCHING, blame, history
from replay.time_travel.kinds import KINDS
from replay.time_travel.objects import parse_object
from replay.time_travel.steps import effective_rows
from tests.histories import random_history
from tests.replay.builders import Base, FakeLog, batches, broker, change, partition, topic, uid

ONE_PARTITION = (topic("orders"), partition("orders", 0))


def log_of(*groups: tuple[Record, ...]) -> FakeLog:
    return FakeLog(batches(*groups))


def changes_of(log: FakeLog, name: str) -> list[tuple[int, dict[str, tuple[object, object]]]]:
    return [
        (event.row.offset, {c.field: (c.before, c.after) for c in event.changes})
        for event in history(log, parse_object(name))
    ]


def test_history_tells_each_change_with_what_was_before() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, isr=(2,)),))
    assert changes_of(log, "partition:orders/0")[1:] == [
        (2, {"leader": (1, 2), "leader_epoch": (0, 1), "partition_epoch": (0, 1)}),
        (3, {"isr": ([1, 2, 3], [2]), "partition_epoch": (1, 2)}),
    ]


def test_history_of_a_field_leaves_the_others_out() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, isr=(2,)),))
    assert changes_of(log, "partition:orders/0#leader") == [
        (1, {"leader": (None, 1)}),
        (2, {"leader": (1, 2)}),
    ]


def test_name_covers_all_lives_and_id_only_one() -> None:
    log = log_of(
        ONE_PARTITION,
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (topic("orders", topic_id="second"),),
    )
    assert [offset for offset, _ in changes_of(log, "topic:orders")] == [0, 1, 2, 3]
    second = f"topic:@{changes_of(log, 'topic:orders')[-1][1]['topic_id'][1]}"
    assert [offset for offset, _ in changes_of(log, second)] == [3]


def test_changes_inside_a_transaction_count_when_it_ends() -> None:
    set_ = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")
    begin, end = BeginTransactionRecord(name="x"), EndTransactionRecord()
    committed = log_of(ONE_PARTITION, (begin, set_), (end,))
    assert changes_of(committed, "config:topic/orders") == [(3, {"retention.ms": (None, "1")})]
    aborted = log_of(ONE_PARTITION, (begin, set_), (AbortTransactionRecord(reason="no"),))
    assert changes_of(aborted, "config:topic/orders") == []


def test_blame_names_the_record_that_last_set_each_field() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, isr=(2,)),))
    found = blame(log, parse_object("partition:orders/0"), 3)
    assert {field: last.offset for field, last in found.items()} | {"mode": 1} == {
        "replicas": 1,
        "isr": 3,
        "removing_replicas": 1,
        "adding_replicas": 1,
        "leader": 2,
        "leader_recovery_state": 1,
        "leader_epoch": 2,
        "partition_epoch": 3,
        "directories": 1,
        "eligible_leader_replicas": 1,
        "last_known_elr": 1,
        "mode": 1,
    }
    assert found["leader"].type == "PartitionChangeRecord"


def test_blame_as_of_a_point_does_not_see_what_came_later() -> None:
    log = log_of(ONE_PARTITION, (change("orders", 0, leader=2),), (change("orders", 0, leader=3),))
    assert blame(log, parse_object("partition:orders/0#leader"), 2)["leader"].value == 2


def test_blame_of_a_second_life_does_not_name_records_of_the_first() -> None:
    log = log_of(
        (broker(1),),
        ONE_PARTITION,
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (topic("orders", topic_id="second"),),
    )
    assert {f.offset for f in blame(log, parse_object("topic:orders"), 4).values()} == {4}


def test_absent_and_unknown_are_different_answers() -> None:
    base = Base(10, (topic("orders"), partition("orders", 0)))
    log = FakeLog(batches((change("orders", 0, leader=2),), base_offset=10), base)
    with pytest.raises(RequestError, match="absent at offset 10") as absent:
        blame(log, parse_object("topic:other"), 10)
    assert absent.value.code == "RESOURCE_NOT_FOUND"
    with pytest.raises(UnknownHistoryError, match="history starts at 10"):
        blame(log, parse_object("topic:orders"), 3)
    found = blame(log, parse_object("partition:orders/0"), 10)
    assert found["leader"].known
    assert not found["replicas"].known


def test_notes_have_a_history_too() -> None:
    log = log_of((NoteRecord(at_offset=0, author="ada", text="hello"),))
    ((offset, changes),) = changes_of(log, "note:0/ada")
    assert offset == 0
    assert changes["text"] == (None, "hello")


def test_every_record_that_changes_a_kind_of_object_is_known_to_do_so() -> None:
    """Replay rich histories one record at a time, and compare whole images around each."""
    seen: set[tuple[str, str]] = set()
    for seed in range(12):
        log = FakeLog(random_history(random.Random(seed), 120))
        image = MetadataImage.EMPTY
        for row in effective_rows(log.batches(), 0, log.end_offset):
            delta = MetadataDelta(image)
            delta.replay(row)
            after = delta.apply(Provenance(offset=row.offset))
            for found in diff_images(image, after):
                kind = found.object.partition(":")[0]
                seen.add((kind, type(row.payload).__name__))
                assert type(row.payload) in _TOUCHING[kind], (found, row)
            image = after
    assert {kind for kind, _ in seen} == set(KINDS)


@pytest.mark.parametrize("seed", range(6))
def test_history_of_each_object_adds_up_to_its_state(seed: int) -> None:
    log = FakeLog(random_history(random.Random(100 + seed), 80))
    image = MetadataImage.EMPTY
    for row in effective_rows(log.batches(), 0, log.end_offset):
        delta = MetadataDelta(image)
        delta.replay(row)
        image = delta.apply(Provenance(offset=row.offset))
    rng = random.Random(seed)
    for kind in KINDS.values():
        keys = [key for key, _ in kind.objects(image)]
        for key in rng.sample(keys, min(4, len(keys))):
            name = parse_object(f"{kind.name}:{kind.label(image, key)}")
            fields: dict[str, object] = {}
            for event in history(log, name):
                fields |= {c.field: c.after for c in event.changes}
            left = {field: value for field, value in fields.items() if value is not None}
            wanted = kind.fields(image, key) or {}
            assert left == {f: v for f, v in wanted.items() if v is not None}, name.text
            assert set(blame(log, name, log.end_offset - 1)) == set(wanted)
