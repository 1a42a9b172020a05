"""What is told as a log grows is what `check` finds in the whole of it, through any restarts."""

import random
import shutil
from pathlib import Path

import pytest

from api.alerts.checks import Checks, checks_of
from api.alerts.log_watch import LogWatch
from api.alerts.notification import Notification, Status
from api.alerts.state import AlertState
from controller.log_check import check_log
from metadata_log.reader.log_reader import LogReader
from replay.loader import replayer_from
from tests.api.quorum.conftest import made, partition, whole, with_snapshots
from tests.api.quorum.quorums import batch_end, read
from tests.api.quorum.recordings import recording
from tests.stand_in_quorum import Quorum

__all__ = ["made", "partition", "whole", "with_snapshots"]

EXPECT = [
    "partitions.all(p, p.leader != -1)",
    "size(topics) % 3 != 0",
    "size(partitions.filter(p, size(p.isr) < size(p.replicas))) < 4",
    "!brokers.exists(b, b.fenced)",
]
EVERY_TOPIC = "size(topics) < 0"


class GrowingWatch(LogWatch):
    """Sees a log only up to an end that moves."""

    end = 0

    def _end(self, reader: LogReader) -> int:
        return min(self.end, super()._end(reader))


def saved(watch: LogWatch) -> AlertState:
    """Return the state as the file keeps it."""
    return AlertState(
        cluster_id=watch.cluster_id,
        next_offset=watch.next_offset,
        active=tuple(watch.active.values()),
    )


def read_all(watch: LogWatch) -> list[Notification]:
    watch.is_behind = True
    told = []
    while watch.is_behind:
        told += watch.read()
    return told


@pytest.mark.parametrize("seed", range(3))
def test_told_through_restarts_as_check_finds_it(demo_log: Path, seed: int) -> None:
    draw = random.Random(seed)
    checks = checks_of(EXPECT)
    with LogReader.open(demo_log) as reader:
        expectations = tuple(checks.expect.values())
        start = replayer_from(reader, None).image()
        found = check_log(reader, start, reader.end_offset, expectations=expectations)
        batches = list(reader.batches())
    first = next(each.end_offset for each in batches if each.end_offset > 100)
    expected = {
        (each.text, each.offset, each.until)
        for each in found
        if each.until is None or each.until >= first
    }
    state, told, ends = AlertState(), [], [each.end_offset for each in batches]
    end = first
    while True:
        watch = GrowingWatch(demo_log, "demo", checks, state)
        for _ in range(draw.randint(1, 5)):
            watch.end = end
            told += read_all(watch)
            end = draw.choice([each for each in ends if end < each <= end + 60] or [ends[-1]])
        state = saved(watch)
        if watch.next_offset == ends[-1]:
            break
    ids = [each.delivery_id for each in told]
    assert len(ids) == len(set(ids))
    ended = {each.id: each.until for each in told if each.status is Status.RESOLVED}
    begun = [each for each in told if each.status is Status.FIRING]
    assert {(each.text, each.offset, ended.get(each.id)) for each in begun} == expected
    assert len(expected) > 15
    assert {each.id for each in begun} >= ended.keys()


def test_added_check_is_told_with_its_beginning_and_removed_one_is_resolved(
    demo_log: Path,
) -> None:
    watch = LogWatch(demo_log, "demo", checks_of(["size(topics) < 3"]), AlertState())
    (few,) = read_all(watch)
    state = saved(watch)
    told = read_all(LogWatch(demo_log, "demo", checks_of(["size(brokers) < 2"]), state))
    assert [(each.check, each.status) for each in told] == [
        ("size(topics) < 3", Status.RESOLVED),
        ("size(brokers) < 2", Status.FIRING),
    ]
    assert told[0].id == few.id
    fresh = LogWatch(demo_log, "demo", checks_of(["size(brokers) < 2"]), AlertState())
    assert read_all(fresh)[0].offset == told[1].offset is not None


def test_beyond_the_high_watermark_nothing_is_told(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    checks = Checks(expect=checks_of([EVERY_TOPIC]).expect, invariants=False)
    start = batch_end(partition, 100)
    with Quorum(partition, end_offset=start) as quorum:
        assert read(quorum, log).code == 0
        watch = LogWatch(log, "log", checks, AlertState())
        assert len(read_all(watch)) == 1
        end = quorum.reveal(batch_end(partition, 200), commit=False)
        assert read(quorum, log).code == 0
        with LogReader.open(log) as reader:
            assert (reader.confirmed_end, reader.end_offset) == (start, end)
        assert read_all(watch) == []
        assert watch.next_offset == start
        quorum.commit(end)
        assert read(quorum, log).code == 0
        assert read_all(watch) == []
        assert watch.next_offset == end


def test_across_a_gap_it_is_told_what_was_found_after_it(
    with_snapshots: Path, tmp_path: Path
) -> None:
    made = recording(with_snapshots, tmp_path / "log")
    with LogReader.open(made.log) as reader:
        after = len(list(replayer_from(reader, None).image().topics()))
    text = f"size(topics) < {after}"
    checks = Checks(expect=checks_of([text, EVERY_TOPIC]).expect, invariants=False)
    earlier = GrowingWatch(made.first_part, "log", checks, AlertState())
    earlier.end = batch_end(with_snapshots, 20)
    (lasting,) = read_all(earlier)
    assert earlier.next_offset < made.gap_start
    watch = LogWatch(made.log, "log", checks, saved(earlier))
    # First the rest of the earlier part, then the newest one.
    told = read_all(watch) if watch.read() == [] else []
    first = told[0]
    assert (first.check, first.status, first.after_gap) == (text, Status.FIRING, True)
    assert first.offset == made.gap_end - 1
    assert lasting.id not in {each.id for each in told}
    assert watch.next_offset == made.end_offset
    shutil.rmtree(made.first_part)
    assert read_all(LogWatch(made.log, "log", checks, saved(earlier)))[0] == first
