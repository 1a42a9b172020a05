"""The demo's history is repeatable, has no contradictions, and shows every feature."""

from collections.abc import Iterator

import pytest

from controller.demo.options import DemoOptions
from records.base import Record, Uuid
from records.errors import RequestError
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    PartitionChangeRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, Partition
from replay.loader import Replayer
from tests.controller.demo.runs import DemoRun, run

_SMALL = DemoOptions(topics=8, brokers=4, changes=300, seed=7)


@pytest.fixture(scope="module")
def demo() -> DemoRun:
    """The demo with default options."""
    return run(DemoOptions())


def _records(demo: DemoRun) -> Iterator[Record]:
    return (record for batch in demo.written for record in batch.records)


# Repeatable.


def test_the_same_options_give_the_same_records_origins_and_times() -> None:
    assert run(_SMALL).written == run(_SMALL).written


def test_another_seed_gives_another_history() -> None:
    other = DemoOptions(topics=8, brokers=4, changes=300, seed=8)
    assert run(_SMALL).written != run(other).written


def test_the_history_begins_when_the_year_2026_does(demo: DemoRun) -> None:
    assert demo.summary.start_ms == demo.written[0].timestamp == 1_767_225_600_000


# Free of contradictions.


def test_every_batch_keeps_the_clusters_invariants(demo: DemoRun) -> None:
    replayer = Replayer()
    ids: set[Uuid] = set()
    before = replayer.image()
    for batch in demo.batches():
        replayer.replay(batch)
        after = replayer.image()
        where = f"at offset {batch.base_offset}"
        for record in {row.payload for row in batch.rows}:
            if isinstance(record, TopicRecord):
                assert record.topic_id not in ids, f"{where}: an id is reused"
                ids.add(record.topic_id)
            topic_id = getattr(record, "topic_id", None)
            if topic_id is not None:
                _check_topic(before, after, topic_id, where)
        before = after
    assert after == demo.image


def _check_topic(before: MetadataImage, after: MetadataImage, topic_id: Uuid, where: str) -> None:
    partitions = after.partitions(topic_id)
    assert [p.partition_id for p in partitions] == list(range(len(partitions))), where
    for partition in partitions:
        _check_partition(after, partition, where)
        old = before.partition(topic_id, partition.partition_id)
        if old is not None and before.topic(topic_id) == after.topic(topic_id):
            assert partition.leader_epoch >= old.leader_epoch, where
            assert partition.partition_epoch >= old.partition_epoch, where


def _check_partition(image: MetadataImage, partition: Partition, where: str) -> None:
    assert set(partition.isr) <= set(partition.replicas), where
    assert partition.isr, where
    assert len(partition.directories) in (0, len(partition.replicas)), where
    if partition.mode == NONE:
        assert partition.leader == -1, where
    elif partition.leader != -1:
        assert partition.leader in partition.isr, where
        broker = image.broker(partition.leader)
        assert broker is not None and not broker.fenced, where


def test_nobody_leads_a_partition_after_being_fenced(demo: DemoRun) -> None:
    image = demo.image
    for topic in image.topics():
        for partition in image.partitions(topic.topic_id):
            _check_partition(image, partition, "at the end")


def test_times_never_go_back(demo: DemoRun) -> None:
    times = [batch.timestamp or 0 for batch in demo.written]
    assert times == sorted(times)


def test_nothing_is_left_half_done(demo: DemoRun) -> None:
    assert list(demo.image.pending_removals()) == []
    assert list(demo.image.replica_deletions()) == []


# Worth looking into.


def test_the_summary_counts_every_batch_but_the_first(demo: DemoRun) -> None:
    assert sum(demo.summary.changes.values()) == len(demo.written) - 1
    assert demo.summary.end_offset == sum(1 for _ in _records(demo))


@pytest.mark.parametrize(
    "kind",
    [
        "ISR changes",
        "broker registrations",
        "broker state changes",
        "brokers fenced",
        "brokers unregistered",
        "configs changed",
        "features upgraded",
        "leaders balanced",
        "leaders elected",
        "namespaces created",
        "namespaces deleted",
        "partition removals",
        "partitions added",
        "replica deletions",
        "shrinks begun",
        "shrinks cancelled",
        "topics created",
        "topics deleted",
        "topics moved",
    ],
)
def test_every_kind_of_change_occurs(demo: DemoRun, kind: str) -> None:
    assert demo.summary.changes[kind] > 0


def test_a_topic_is_deleted_and_created_again_under_its_name(demo: DemoRun) -> None:
    names: dict[str, set[Uuid]] = {}
    for record in _records(demo):
        if isinstance(record, TopicRecord) and record.namespace_id is None:
            names.setdefault(record.name, set()).add(record.topic_id)
    assert any(len(ids) > 1 for ids in names.values())


def test_partitions_lose_their_leader_and_are_led_uncleanly(demo: DemoRun) -> None:
    changes = [r for r in _records(demo) if isinstance(r, PartitionChangeRecord)]
    assert any(change.leader == -1 and change.mode is None for change in changes)
    assert any(change.leader_recovery_state == 1 for change in changes)
    assert any(change.leader_recovery_state == 0 for change in changes)


def test_a_shrink_is_cancelled_and_another_is_finished_although_a_broker_was_down(
    demo: DemoRun,
) -> None:
    records = list(_records(demo))
    assert any(isinstance(record, CancelDeleteTopicPartitionsRecord) for record in records)
    assert any(isinstance(record, RemovePartitionsRecord) for record in records)
    states = [r.state for r in records if isinstance(r, ReplicaDeletionRecord)]
    assert {4, 5, 6, 7} <= set(states)


def test_topics_move_between_namespaces_and_go(demo: DemoRun) -> None:
    records = list(_records(demo))
    assert any(isinstance(record, MoveTopicRecord) for record in records)
    assert any(isinstance(record, RemoveTopicRecord) for record in records)


def test_every_batch_says_who_caused_it(demo: DemoRun) -> None:
    origins = [batch.origin for batch in demo.written]
    assert all(origin is not None and origin.command for origin in origins)
    principals = {origin.principal for origin in origins if origin is not None}
    assert {"User:alice", "User:bob", "User:controller", "User:broker-1"} <= principals
    people = [o for o in origins if o is not None and o.request_id is not None]
    assert all(origin.reason for origin in people)
    assert len({origin.request_id for origin in people}) == len(people)


# Any size.


@pytest.mark.parametrize(
    ("topics", "brokers", "changes"), [(1, 1, 1), (1, 1, 400), (3, 2, 600), (30, 7, 50)]
)
def test_a_demo_of_any_size_ends(topics: int, brokers: int, changes: int) -> None:
    made = run(DemoOptions(topics=topics, brokers=brokers, changes=changes))
    assert sum(made.summary.changes.values()) >= changes


@pytest.mark.parametrize("field", ["topics", "brokers", "changes"])
def test_a_demo_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(RequestError, match=f"--{field} must be 1 to "):
        run(DemoOptions(**{field: 0}))


def test_progress_grows_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    run(_SMALL, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (300, 300)
