"""A mirror that starts from a snapshot of the quorum."""

from pathlib import Path

import pytest

from metadata_log.kraft.new_mirror import begin_mirror
from metadata_log.reader.log_reader import LogReader
from records.control import KRaftVersionRecord, NoOpRecord
from tests.api.conftest import Metalog
from tests.api.quorum.quorums import batches_in, exported, read
from tests.metadata_log.kraft.logs import topic
from tests.metadata_log.kraft.node import Node
from tests.stand_in_quorum import (
    FETCH_SNAPSHOT,
    Answer,
    CloseAfter,
    FlipByte,
    Meanwhile,
    Quorum,
    SnapshotId,
)

_KRAFT_0 = KRaftVersionRecord(version=0, kraft_version=0)


def _snapshots(quorum: Quorum) -> list[SnapshotId]:
    return sorted(quorum.leader.log.snapshots)


def _digest(metalog: Metalog, log: Path, at: int) -> str:
    found: str = metalog("digest", log, "--at", at, "--json").json["digest"]
    return found


@pytest.mark.parametrize("release", ["3.3", "3.6", "3.9", "4.3"])
def test_mirror_of_a_cleaned_log_starts_from_the_oldest_snapshot(
    metalog: Metalog, whole: Path, with_snapshots: Path, tmp_path: Path, release: str
) -> None:
    log = tmp_path / "log"
    with Quorum(with_snapshots, release=release) as quorum:
        oldest, *_ = _snapshots(quorum)
        quorum.clean(oldest)
        done = read(quorum, log)
        end = quorum.leader.high_watermark
    assert (done.code, done.err) == (0, "")
    with LogReader.open(log) as reader:
        assert (reader.history_start, reader.confirmed_end) == (oldest.end_offset, end)
    for at in (oldest.end_offset - 1, oldest.end_offset + 40, end - 1):
        assert _digest(metalog, log, at) == _digest(metalog, whole, at)


@pytest.mark.parametrize("release", ["3.6", "3.9", "4.3"])
def test_log_that_was_never_cleaned_is_recorded_from_offset_1(
    metalog: Metalog, whole: Path, with_snapshots: Path, tmp_path: Path, release: str
) -> None:
    log = tmp_path / "log"
    with Quorum(with_snapshots, release=release) as quorum:
        first, *rest = quorum.source.batches
        assert first.end_offset == 1, "offset 0 is in a batch of its own, which is not served"
        done = read(quorum, log, "--noop", "keep")
        end = quorum.leader.high_watermark
    assert (done.code, done.err) == (0, "")
    with LogReader.open(log) as reader:
        assert (reader.history_start, reader.confirmed_end) == (1, end)
    assert exported(log, tmp_path / "exported") == b"".join(each.data for each in rest)
    for at in (0, 1, 40, end - 1):
        assert _digest(metalog, log, at) == _digest(metalog, whole, at)


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.3"])
def test_log_whose_first_batch_has_several_records_is_recorded_from_offset_0(
    tmp_path: Path, release: str
) -> None:
    log, node = tmp_path / "log", Node(tmp_path / "node", first=(_KRAFT_0,))
    node.append(topic())
    node.make_checkpoint()
    node.elect()
    node.append(NoOpRecord())
    with Quorum(node.partition, release=release) as quorum:
        done = read(quorum, log, "--noop", "keep")
    assert (done.code, done.err) == (0, "")
    assert exported(log, tmp_path / "exported") == batches_in(node.partition)


def test_log_whose_first_epoch_is_not_known_is_recorded_from_a_snapshot(tmp_path: Path) -> None:
    log, node = tmp_path / "log", Node(tmp_path / "node")
    node.elect()
    node.append(topic())
    node.make_checkpoint()
    node.append(NoOpRecord())
    with Quorum(node.partition, release="3.9") as quorum:
        assert read(quorum, log).code == 0
    with LogReader.open(log) as reader:
        assert reader.history_start == node.committed_end


def test_snapshot_that_vanishes_while_it_is_read_is_replaced_by_another(
    with_snapshots: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Quorum(with_snapshots) as quorum:
        oldest, second, _ = _snapshots(quorum)
        quorum.clean(oldest)
        quorum.fail(Meanwhile(lambda: quorum.clean(second)), key=FETCH_SNAPSHOT)
        assert read(quorum, log).code == 0
    with LogReader.open(log) as reader:
        assert reader.history_start > oldest.end_offset


def test_chunks_that_break_off_are_asked_for_again(with_snapshots: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(with_snapshots) as quorum:
        quorum.clean(_snapshots(quorum)[0])
        quorum.fail(CloseAfter(200), key=FETCH_SNAPSHOT, times=2)
        assert read(quorum, log).code == 0


def test_damaged_snapshot_is_refused_and_leaves_nothing(
    with_snapshots: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Quorum(with_snapshots) as quorum:
        quorum.clean(_snapshots(quorum)[0])
        quorum.fail(FlipByte(), key=FETCH_SNAPSHOT)
        done = read(quorum, log)
    assert done.code == 5
    assert not log.exists()


def test_chunk_from_another_place_is_refused(with_snapshots: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Quorum(with_snapshots) as quorum:
        quorum.clean(_snapshots(quorum)[0])
        quorum.fail(Answer(position=7), key=FETCH_SNAPSHOT)
        done = read(quorum, log)
    assert done.code == 4
    assert "was asked for byte 0 of a snapshot" in done.err
    assert not log.exists()


def test_records_before_a_snapshot_of_a_later_epoch_are_read_on(tmp_path: Path) -> None:
    log, node = tmp_path / "log", Node(tmp_path / "node")
    node.append(topic())
    start = node.end_offset
    node.append(NoOpRecord())
    node.elect()
    node.append(NoOpRecord())
    with Quorum(node.partition, end_offset=start) as quorum:
        assert read(quorum, log, "--noop", "keep").code == 0
    node.make_checkpoint()
    with Quorum(node.partition) as quorum:
        done = read(quorum, log, "--noop", "keep")
    assert (done.code, done.err) == (0, "")
    assert exported(log, tmp_path / "exported") == batches_in(node.partition)


def test_empty_mirror_from_offset_0_goes_on_in_a_new_part_if_offset_0_is_no_longer_served(
    tmp_path: Path,
) -> None:
    log, node = tmp_path / "log", Node(tmp_path / "node")
    node.append(topic())
    node.make_checkpoint()
    node.append(NoOpRecord())
    with Quorum(node.partition, release="3.9") as quorum:
        begin_mirror(log, quorum.cluster_id)
        done = read(quorum, log, "--noop", "keep")
    assert done.code == 0, done.err
    assert "offsets 0 to 0 were not recorded" in done.err
    with LogReader.open(log) as reader:
        assert (reader.history_start, reader.end_offset) == (1, node.end_offset)
