"""Checking a log step by step finds the same violations as checking every whole image."""

import random
from pathlib import Path

import pytest

from controller.invariants.history import InvariantTracker, Key
from controller.log_check import check_log
from metadata_log.reader.log_reader import LogReader
from records.base import ZERO_UUID, Record, Uuid
from records.brokers import FenceBrokerRecord, UnfenceBrokerRecord
from records.configs import FeatureLevelRecord
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveTopicRecord, TopicRecord
from replay.expressions.expression import Expression
from replay.image.metadata import MetadataImage
from replay.incidents.live_replay import LiveReplayer
from replay.loader import BatchSource, Replayer, images, load_image, replayer_from
from replay.time_travel.effects import touched_keys
from replay.time_travel.labels import unescaped
from tests.controller.plain_invariants import HistoryCheck, check_image
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.builders import FakeLog, batches, broker, change, partition, topic
from tests.replay.incidents.real import imported

_SMALL = 3_000


def _compare(log: BatchSource, start: MetadataImage) -> int:
    """Compare the check of steps, with images and without, with that of each image, after every
    batch outside transactions; return the number of violations.
    """
    with_images, live = (replayer_from(log, start, of) for of in (Replayer, LiveReplayer))
    tracker, of_live = (InvariantTracker(each.image()) for each in (with_images, live))
    whole, count = HistoryCheck(start), 0
    for batch, image in images(log, with_images.next_offset, log.end_offset, start=start):
        with_images.replay(batch)
        live.replay(batch)
        by_history = {v.invariant for v in whole.step(batch, image)}
        if with_images.in_transaction:
            continue
        found = _step(tracker, with_images)
        assert _step(of_live, live) == found, batch.base_offset
        steps = {invariant for invariant, _, _ in found}
        expected = {(v.invariant, v.finding) for v in check_image(image)}
        assert {_finding(*key) for key in tracker.active} == expected, batch.base_offset
        assert of_live.active == tracker.active, batch.base_offset
        assert steps <= by_history
        assert by_history - steps <= {invariant for invariant, _ in expected}
        count += len(expected) + len(steps)
    return count


def _step(tracker: InvariantTracker, replayer: Replayer) -> list[Key]:
    delta = replayer.delta
    keys = touched_keys(delta, with_partitions=False)
    return tracker.step(delta, keys, replayer.image())


def _finding(invariant: str, name: str | None, text: str) -> tuple[str, str]:
    if name is None:
        return invariant, text
    full_name = name.partition(":")[2]
    if name.startswith("partition:"):
        full_name = full_name.rpartition("/")[0]
    return invariant, f"topic {unescaped(full_name)!r}: {text}"


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(seed: int) -> None:
    log = FakeLog(random_history(random.Random(seed), 80))
    # They hold what a controller would never write, so there is much to find.
    assert _compare(log, load_image(log, -1)) > 0


_LEVEL = FeatureLevelRecord(name="group.version", feature_level=1)


@pytest.mark.parametrize("seed", range(20))
def test_brokers_and_features_that_change_in_one_batch(seed: int) -> None:
    random_ = random.Random(seed)
    live = [1, 2]
    brokers = [broker(each, fenced=False, broker_epoch=each) for each in live]
    orders = partition("orders", 0, replicas=(1, 2), isr=(1, 2), leader=1)
    groups: list[list[Record]] = [[*brokers, topic("orders"), orders]]
    for _ in range(30):
        kind = random_.choice((FenceBrokerRecord, UnfenceBrokerRecord))
        groups.append([_LEVEL] * random_.randrange(2))
        if random_.random() < 0.5:
            groups[-1].append(kind(id=2, epoch=2))
            live = [1, 2] if kind is UnfenceBrokerRecord else [1]
        isr = tuple(live) if random_.random() < 0.7 else (1, 2)
        groups[-1].append(change("orders", 0, leader=1, isr=isr))
    shrinks, grows = (change("orders", 0, leader=1, isr=isr) for isr in ((1,), (1, 2)))
    groups += [UnfenceBrokerRecord(id=2, epoch=2)], [grows]
    groups += [_LEVEL, FenceBrokerRecord(id=2, epoch=2), shrinks], [grows]
    log = FakeLog(batches(*groups))
    assert _compare(log, load_image(log, -1)) > 0


_SHARED, _DASHED = Uuid(b"shared-id" + bytes(7)), Uuid(b"\xf8" + bytes(15))


def test_ids_that_are_reserved_or_shared_are_found_whatever_comes_and_goes() -> None:
    groups: list[list[Record]] = [
        [NamespaceRecord(namespace_id=_SHARED, name="org")],
        [TopicRecord(name="a", topic_id=_DASHED)],
        [TopicRecord(name="b", topic_id=_SHARED), topic("d")],
        [TopicRecord(name="c", topic_id=ZERO_UUID)],
        [MoveTopicRecord(topic_id=_DASHED, name="a", namespace_id=_SHARED)],
        [NamespaceRecord(namespace_id=Uuid(b"\xf9" + bytes(15)), name="net:far")],
        [RemoveTopicRecord(topic_id=_SHARED), topic("e")],
        [RemoveTopicRecord(topic_id=ZERO_UUID), RemoveTopicRecord(topic_id=_DASHED)],
    ]
    log = FakeLog(batches(*groups))
    for at in range(-1, log.end_offset):
        assert _compare(log, load_image(log, at)) >= (at < log.end_offset - 2)


@each_data_set_where(lambda data_set: sum(s.record_count for s in data_set.segments) < _SMALL)
def test_real_logs(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        _compare(reader, load_image(reader, reader.history_start - 1))


# docs/invariants.md says why.
_VIOLATED = {"azercell3-3node-legacy": {"leader_can_lead", "isr_is_of_the_live"}}


@each_data_set
def test_real_logs_violate_only_what_is_explained(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start = load_image(reader, reader.history_start - 1)
        found = check_log(reader, start, reader.end_offset)
    assert {v.invariant for v in found} == _VIOLATED.get(data_set.name, set())
    assert all(v.until is not None for v in found)


_GROUPS: list[list[Record]] = [
    [broker(1, fenced=False, broker_epoch=1), broker(2, fenced=False, broker_epoch=2)],
    [topic("orders"), partition("orders", 0, replicas=(1, 2), isr=(1, 2))],
    [broker(1, fenced=True, broker_epoch=1)],
    [change("orders", 0, leader=2, isr=(2,))],
]


def test_a_violation_has_a_beginning_and_an_end() -> None:
    log = FakeLog(batches(*_GROUPS))
    found = check_log(log, load_image(log, -1), log.end_offset)
    assert [(v.invariant, v.object, v.offset, v.until) for v in found] == [
        ("isr_is_of_the_live", "partition:orders/0", 4, 5),
        ("leader_can_lead", "partition:orders/0", 4, 5),
    ]


def test_what_is_violated_before_the_range_has_no_beginning() -> None:
    log = FakeLog(batches(*_GROUPS))
    found = check_log(log, load_image(log, 4), log.end_offset)
    assert {(v.offset, v.until) for v in found} == {(None, 5)}


def test_expectations_are_checked_too() -> None:
    log = FakeLog(batches(*_GROUPS))
    expected = [Expression("partitions.all(p, size(p.isr) == 2)"), Expression("size(topics) < 2")]
    found = check_log(log, load_image(log, 3), log.end_offset, expectations=expected)
    assert [(v.text, v.offset, v.until) for v in found if v.invariant == "expect"] == [
        ("partitions.all(p, size(p.isr) == 2)", 5, None)
    ]
