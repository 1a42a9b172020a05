"""History and blame skip ranges between snapshots in which a version is the same; same answers."""

import logging
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import URL

from records.base import Record
from records.configs import ConfigRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.configs import TOPIC
from replay.snapshot import file as module
from replay.snapshot import layers
from replay.snapshot.file import SnapshotFile
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.time_travel import skim
from replay.time_travel.objects import parse_object
from replay.time_travel.past_topics import PastTopics, Target, untouched_until
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import batches, change, namespace, partition, topic, uid
from tests.replay.snapshot.conftest import CLUSTER
from tests.replay.time_travel.test_skim import SkimmedLog, names_in
from tests.samples import cases, sampled


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use snapshots even if they are close together."""
    monkeypatch.setattr(module, "RECORDS_BETWEEN_MIN", 1)


@pytest.fixture
def file(url: URL) -> SnapshotFile:
    """The file to which the fixture `store` writes."""
    return SnapshotFile(Path(str(url.database)), CLUSTER)


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges of offsets that were skipped."""
    found: list[tuple[int, int]] = []

    def noted(past: PastTopics, target: Target, at: int, end: int) -> int:
        until = untouched_until(past, target, at, end)
        if until > at:
            found.append((at, until))
        return until

    monkeypatch.setattr(skim, "untouched_until", noted)
    return found


def answers(timeline: Timeline, name: str, at: int) -> list[object]:
    """Return the results of history and blame, or their errors."""
    asked = parse_object(name)
    found: list[object] = []
    for ask in (
        lambda: list(timeline.history(asked, at + 1)),
        lambda: timeline.blame(asked, at),
    ):
        try:
            found.append(ask())
        except RequestError as error:
            found.append((error.code, str(error)))
    return found


def check_all(log: SkimmedLog, file: SnapshotFile, ats: Sequence[int]) -> None:
    for name in names_in(log):
        for at in ats:
            with_snapshots = answers(Timeline(log, file), name, at)
            assert with_snapshots == answers(Timeline(log), name, at), (name, at)


@sampled
@pytest.mark.parametrize("is_layered", [False, True])
@pytest.mark.parametrize("seed", range(cases(5, 2)))
def test_answers_are_those_of_a_replay(
    store: SnapshotStore,
    file: SnapshotFile,
    skipped: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    is_layered: bool,
) -> None:
    if is_layered:
        monkeypatch.setattr(layers, "LAYERED_SIZE_MIN_BYTES", 1)
        monkeypatch.setattr(layers, "OVERLAY_SHARE_MAX", 5.0)
    rng = random.Random(seed)
    log = SkimmedLog(random_history(rng, 60))
    for at in sorted(rng.sample(range(log.end_offset), 25)):
        create_snapshot(log, store, at)
    names = names_in(log)
    for name in rng.sample(names, min(len(names), cases(60, 30))):
        at = rng.randrange(-1, log.end_offset)
        with_snapshots = answers(Timeline(log, file), name, at)
        assert with_snapshots == answers(Timeline(log), name, at), (name, at)
    assert skipped


def _touched(count: int) -> list[tuple[Record, ...]]:
    """Return batches that change another topic."""
    return [(change("busy", 0, leader=1 + n % 3),) for n in range(count)]


START = ((namespace("org"),), (topic("busy"), partition("busy", 0)))

STORIES: dict[str, list[tuple[Record, ...]]] = {
    "created again": [
        (topic("a"), partition("a", 0)),
        *_touched(6),
        (RemoveTopicRecord(topic_id=uid("a")),),
        *_touched(4),
        (topic("a", topic_id="second"), partition("second", 0)),
        *_touched(6),
        (change("second", 0, leader=3),),
    ],
    "the name is taken over": [
        (topic("a"), partition("a", 0)),
        *_touched(4),
        (topic("b"), partition("b", 0)),
        (change("b", 0, leader=2),),
        *_touched(4),
        (MoveTopicRecord(topic_id=uid("a"), name="c", namespace_id=None),),
        (MoveTopicRecord(topic_id=uid("b"), name="a", namespace_id=None),),
        *_touched(4),
        (change("b", 0, leader=3),),
    ],
    "in a transaction": [
        (topic("a"), partition("a", 0)),
        *_touched(3),
        (BeginTransactionRecord(name="t"),),
        *_touched(3),
        (change("a", 0, leader=2),),
        *_touched(3),
        (EndTransactionRecord(),),
        *_touched(5),
    ],
    "configs by name": [
        (topic("a"), partition("a", 0)),
        (ConfigRecord(resource_type=TOPIC, resource_name="a", name="x", value="1"),),
        *_touched(6),
        (ConfigRecord(resource_type=TOPIC, resource_name="a", name="x", value="2"),),
        *_touched(6),
    ],
    "into a namespace that came later": [
        (topic("a"), partition("a", 0)),
        *_touched(4),
        (namespace("late"),),
        *_touched(4),
        (MoveTopicRecord(topic_id=uid("a"), name="a", namespace_id=uid("late")),),
        *_touched(4),
    ],
}


@pytest.mark.parametrize("story", STORIES)
def test_stories_are_told_in_full(
    store: SnapshotStore, file: SnapshotFile, skipped: list[tuple[int, int]], story: str
) -> None:
    log = SkimmedLog(batches(*START, *STORIES[story]))
    for at in range(2, log.end_offset):
        create_snapshot(log, store, at)
    check_all(log, file, range(2, log.end_offset, 3))
    assert skipped


def test_only_stretches_with_changes_are_read(store: SnapshotStore, file: SnapshotFile) -> None:
    quiet = (topic("a"), partition("a", 0))
    log = SkimmedLog(batches(*START, quiet, *_touched(30), (change("a", 0, leader=2),)))
    for at in (9, 19, 29):
        create_snapshot(log, store, at)
    read: list[tuple[int, int]] = []
    searched = SkimmedLog.skim

    def noted(self: SkimmedLog, needles: object, to: int, *, from_offset: int) -> object:
        read.append((from_offset, to))
        return searched(self, needles, to, from_offset=from_offset)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SkimmedLog, "skim", noted)
        events = list(Timeline(log, file).history(parse_object("partition:a/0")))
    assert [event.row.offset for event in events] == [4, log.end_offset - 1]
    assert read == [(0, 10), (30, log.end_offset)]


def test_snapshots_close_to_a_newer_one_are_not_read(
    store: SnapshotStore, file: SnapshotFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SkimmedLog(batches(*START, *_touched(30)))
    for at in (5, 9, 14, 19, 29):
        create_snapshot(log, store, at)
    monkeypatch.setattr(module, "RECORDS_BETWEEN_MIN", 10)
    assert file.topics(lambda info: info.end_offset != 30).end_offsets() == [10, 20]


def test_snapshots_that_cannot_be_read_are_passed_over_with_a_note(
    store: SnapshotStore, file: SnapshotFile, url: URL, caplog: pytest.LogCaptureFixture
) -> None:
    log = SkimmedLog(batches(*START, (topic("a"), partition("a", 0)), *_touched(20)))
    for at in (9, 14, 19):
        create_snapshot(log, store, at)
    with sqlite3.connect(str(url.database)) as connection:
        connection.execute("UPDATE snapshot_chunk SET content = x'00'")
    with caplog.at_level(logging.WARNING):
        check_all(log, file, [log.end_offset - 1])
    assert "passed over" in caplog.text
