"""Quorums that fail in the middle, and answers that would mislead a careless reader."""

import subprocess
import time
from pathlib import Path

import pytest

from metadata_log.kraft.checkpoint_writer import write_checkpoint
from records.base import Uuid
from records.configs import FeatureLevelRecord
from records.topics import TopicRecord
from tests.api.quorum.quorums import batch_end, batches_in, ends, exported, following, read
from tests.docs_console import ROOT
from tests.forked_commands import METALOG
from tests.stand_in_quorum import (
    API_VERSIONS,
    FETCH,
    FETCH_SNAPSHOT,
    Answer,
    Batch,
    CloseAfter,
    Fault,
    Meanwhile,
    Quorum,
    Silent,
    Slow,
    WrongCorrelation,
    WrongLength,
    relabelled,
    split,
)
from tests.stand_in_quorum.batches import leader_change

_CONNECTION_FAULTS = (
    *((API_VERSIONS, fault) for fault in (CloseAfter(0), CloseAfter(9), WrongLength(-1))),
    *((FETCH, CloseAfter(size)) for size in (0, 3, 7, 9, 60, 2_000)),
    *((FETCH, WrongLength(size)) for size in (-1, 3, 2**31 - 1)),
    *((FETCH, fault) for fault in (WrongCorrelation(), Silent(), Slow(0.001, piece=50))),
)


@pytest.mark.parametrize(("key", "fault"), _CONNECTION_FAULTS, ids=repr)
def test_broken_connection_is_opened_again(
    partition: Path, tmp_path: Path, key: int, fault: Fault
) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        quorum.fail(fault, key=key)
        quorum.fail(fault, key=FETCH, after=2)
        done = read(quorum, log, "--noop", "keep")
    assert (done.code, done.err) == (0, "")
    assert exported(log, tmp_path / "exported") == batches_in(partition)


@pytest.mark.parametrize("size", [1, 11, 40])
def test_answers_without_a_whole_batch_are_not_asked_for_without_end(
    partition: Path, tmp_path: Path, size: int
) -> None:
    with Quorum(partition) as quorum:
        cut = quorum.leader.log.read(0, 100)[:size]
        quorum.fail(Answer(records=cut), key=FETCH, after=1, times=1_000)
        done = read(quorum, tmp_path / "log")
        asked = len(quorum.asked(FETCH))
    assert done.code == 5
    assert quorum.bootstrap in done.err
    assert asked < 10


def _snapshot(path: Path, epoch: int, names: list[str]) -> bytes:
    """Return a snapshot whose topics are in a given order."""
    records: list[tuple[FeatureLevelRecord | TopicRecord, int]] = [
        (FeatureLevelRecord(name="metadata.version", feature_level=20), 0)
    ]
    for name in names:
        topic_id = Uuid(int(name.removeprefix("topic-")).to_bytes(16, "big"))
        records.append((TopicRecord(name=name, topic_id=topic_id), 0))
    write_checkpoint(path, records, leader_epoch=epoch, timestamp=1)
    return path.read_bytes()


def test_snapshot_is_read_from_one_leader(partition: Path, tmp_path: Path) -> None:
    """Each node makes its own snapshot: the same records, in an order of its own.

    A half of one and a half of another may be a whole file without a wrong byte, in which some
    records are twice and others are missing.
    """
    log = tmp_path / "log"
    first = [f"topic-{number:05d}" for number in range(1_000, 2_023)]
    second = [f"topic-{number:05d}" for number in range(5_000, 6_023)]
    with Quorum(partition, nodes=2) as quorum:
        end, epoch = quorum.leader.log.end_offset, quorum.leader.log.last_epoch
        one = _snapshot(tmp_path / "one", epoch, first + second)
        other = _snapshot(tmp_path / "other", epoch, second + first)
        half = sum(len(each.data) for each in list(split(one))[:2])
        snapshot = quorum.add_snapshot(end, epoch, one)
        quorum.nodes[2].log.snapshots[snapshot] = other
        quorum.clean(snapshot)
        quorum.fail(Answer(data=one[:half]), key=FETCH_SNAPSHOT)
        quorum.fail(Meanwhile(lambda: quorum.elect(2, high_watermark=end)), key=FETCH_SNAPSHOT)
        done = read(quorum, log)
        positions = [
            (seen.node_id, seen.request.topics[0][1][0].position)
            for seen in quorum.asked(FETCH_SNAPSHOT)
        ]
    assert (done.code, done.err) == (0, "")
    assert positions[-1] == (2, 0), positions
    image = subprocess.run(
        [*METALOG, "image", str(log), "--json"], capture_output=True, text=True, cwd=ROOT
    )
    assert image.returncode == 0, image.stderr
    assert all(name in image.stdout for name in first + second)


def test_snapshot_that_vanishes_is_replaced_by_the_next(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        end, epoch = quorum.leader.log.end_offset, quorum.leader.log.last_epoch
        earlier = quorum.leader.log.batches[-3].end_offset
        data = _snapshot(tmp_path / "one", epoch, ["topic-1"])
        first = quorum.add_snapshot(earlier, epoch, data)
        quorum.clean(first)

        def replace() -> None:
            quorum.delete_snapshot(first)
            quorum.add_snapshot(end, epoch, data)

        quorum.fail(Answer(data=data[:50]), key=FETCH_SNAPSHOT)
        quorum.fail(Meanwhile(replace), key=FETCH_SNAPSHOT)
        done = read(quorum, log, "--json")
        assert quorum.asked(FETCH_SNAPSHOT)
    assert (done.code, done.err) == (0, "")
    assert ends(log) == (end, end)


@pytest.mark.parametrize(
    "wrong",
    [Answer(position=7), Answer(data=b""), Answer(size=10), Answer(size=2**40), Answer(error=99)],
    ids=repr,
)
def test_snapshot_with_wrong_places_is_not_taken(
    partition: Path, tmp_path: Path, wrong: Fault
) -> None:
    log = tmp_path / "log"
    with Quorum(partition) as quorum:
        end, epoch = quorum.leader.log.end_offset, quorum.leader.log.last_epoch
        data = _snapshot(tmp_path / "one", epoch, ["topic-1", "topic-2"])
        quorum.clean(quorum.add_snapshot(end, epoch, data))
        quorum.fail(wrong, key=FETCH_SNAPSHOT, times=1_000)
        done = read(quorum, log)
        asked = len(quorum.asked(FETCH_SNAPSHOT))
    assert done.code not in (0, 1), done.out
    assert asked < 100
    assert not log.exists()


def test_node_that_lags_is_not_followed(partition: Path, tmp_path: Path) -> None:
    """It leads an earlier epoch, as far as it knows: its word does not count."""
    log = tmp_path / "log"
    with Quorum(partition, nodes=3, end_offset=batch_end(partition, 100)) as quorum:
        quorum.elect(2, unaware=(1,))
        quorum.append([leader_change(quorum.leader.log.end_offset, quorum.leader.epoch, 2)])
        url = f"kafka://{quorum.address(2)},{quorum.address(1)},{quorum.address(3)}"
        with following(quorum, log, url=url) as follow:
            follow.wait_until(quorum.leader.log.end_offset)
            quorum.elect(3, unaware=(1,))
            quorum.stop(2)
            quorum.append([leader_change(quorum.leader.log.end_offset, quorum.leader.epoch, 3)])
            follow.wait_until(quorum.leader.log.end_offset, quorum.leader.log.end_offset)
            assert follow.end().code == 0


def test_epoch_without_a_leader_is_waited_out(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        Quorum(partition, nodes=3, end_offset=batch_end(partition, 100)) as quorum,
        following(quorum, log) as follow,
    ):
        follow.wait_until(quorum.leader.high_watermark)
        quorum.elect(-1)
        before = len(quorum.seen)
        time.sleep(1)
        asked = len(quorum.seen) - before
        quorum.elect(3)
        end = quorum.reveal()
        follow.wait_until(end, end)
        assert follow.end().code == 0
    # A guest waits longer and longer: 0.1 s, 0.2 s, 0.4 s, ...
    assert asked < 20


def _rewritten(quorum: Quorum, offset: int, leader_id: int) -> list[Batch]:
    """Return what the source has from an offset on, as written by a new leader."""
    epoch = quorum.leader.epoch
    batches = [leader_change(offset, epoch, leader_id)]
    for each in quorum.source.batches:
        if each.base_offset >= offset:
            batches.append(relabelled(each, batches[-1].end_offset, epoch))
    return batches


def test_election_amid_a_recording_leaves_the_bytes_of_the_new_leader(
    partition: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    committed = batch_end(partition, 200)
    with Quorum(partition, nodes=3, high_watermark=committed) as quorum:
        end = quorum.leader.log.end_offset
        with following(quorum, log, "--noop", "keep") as follow:
            follow.wait_until(end, committed)
            quorum.elect(2, end_offset=committed)
            quorum.append(_rewritten(quorum, committed, 2))
            follow.wait_until(quorum.leader.log.end_offset, quorum.leader.log.end_offset)
            assert follow.end().code == 0
        expected = b"".join(each.data for each in quorum.leader.log.batches)
    assert exported(log, tmp_path / "exported") == expected


def test_committed_records_that_are_denied_freeze_the_mirror(
    partition: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Quorum(partition, nodes=3) as quorum:
        end = quorum.leader.log.end_offset
        lost = batch_end(partition, 200)
        with following(quorum, log, "--noop", "keep") as follow:
            follow.wait_until(end, end)
            quorum.elect(2, end_offset=lost)
            quorum.append(_rewritten(quorum, lost, 2))
            done = follow.ended()
        assert done.code == 6, done.err
        assert ends(log) == (end, end)
        assert read(quorum, log).code == 6
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_lower_high_watermark_of_a_new_leader_takes_nothing_back(
    partition: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Quorum(partition, nodes=3) as quorum:
        end = quorum.leader.log.end_offset
        with following(quorum, log, "--noop", "keep") as follow:
            follow.wait_until(end, end)
            quorum.elect(3)
            quorum.append([leader_change(end, quorum.leader.epoch, 3)], commit=False)
            follow.wait_until(end + 1, end)
            quorum.commit(end + 1)
            follow.wait_until(end + 1, end + 1)
            assert follow.end().code == 0


def test_rolling_restart_and_upgrade_are_survived(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    ends_of_parts = [batch_end(partition, offset) for offset in (50, 100, 150, 200, 250, 300)]
    with (
        Quorum(partition, release="3.3", nodes=3, end_offset=ends_of_parts[0]) as quorum,
        following(quorum, log, "--noop", "keep") as follow,
    ):
        for step, release in enumerate(("3.3", "3.6", "3.9", "4.0", "4.3")):
            node_id = step % 3 + 1
            quorum.stop(node_id)
            if quorum.leader.node_id == node_id:
                quorum.elect(node_id % 3 + 1)
            end = quorum.reveal(ends_of_parts[step + 1])
            quorum.start(node_id)
            quorum.upgrade(release)
            follow.wait_until(end, end)
        end = quorum.reveal()
        follow.wait_until(end, end)
        assert follow.end().code == 0
    assert exported(log, tmp_path / "exported") == batches_in(partition)


def test_answer_of_another_topic_is_not_taken(partition: Path, tmp_path: Path) -> None:
    with Quorum(partition) as quorum:
        quorum.fail(Answer(topic_id=bytes(15) + b"\2"), key=FETCH, times=1_000)
        done = read(quorum, tmp_path / "log")
    assert done.code not in (0, 1)


def test_reader_behind_the_start_of_the_log_is_told(partition: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(partition, end_offset=batch_end(partition, 100)) as quorum:
        start = quorum.leader.log.end_offset
        assert read(quorum, log, "--noop", "keep").code == 0
        quorum.reveal()
        end, epoch = quorum.leader.log.end_offset, quorum.leader.log.last_epoch
        snapshot = quorum.add_snapshot(end, epoch, _snapshot(tmp_path / "s", epoch, ["topic-1"]))
        quorum.clean(snapshot)
        done = read(quorum, log)
    assert f"offsets {start} to {end - 1} were not recorded" in done.err
    assert ends(tmp_path / "log.part-1") == (start, start)
    assert ends(log) == (end, end)
