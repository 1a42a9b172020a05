"""Comparing logs: their common part, the offset where they diverge, and the longer one."""

import shutil
from pathlib import Path

import pytest

from metadata_log.kraft.batch_index import BatchIndex, index_directory, index_log
from metadata_log.kraft.common_part import CommonPart, common_part
from metadata_log.kraft.comparison import Branch, Comparison
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from records.control import NoOpRecord
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    partition_change,
    topic,
    two_segments,
)
from tests.real_logs import DataSet, data_sets, each_data_set_where

_START = (batch(0, 1, leader_change()), batch(1, 1, topic(), partition_change(0)))
_NOOPS = tuple(batch(offset, 1, NoOpRecord()) for offset in range(3, 9))


def _index(directory: Path, *batches: bytes) -> BatchIndex:
    files = LogFiles(directory)
    files.segment(0, *batches)
    return index_directory(open_directory(directory))


def _mirror(directory: Path, log: Path, *, collapse: bool) -> BatchIndex:
    import_directory(open_directory(directory), log, collapse_noops=collapse)
    with LogReader.open(log) as reader:
        return index_log(reader)


def test_shorter_log_is_the_beginning_of_the_longer(tmp_path: Path) -> None:
    short = _index(tmp_path / "a", *_START)
    long = _index(tmp_path / "b", *_START, *_NOOPS)
    assert common_part(short, long) == common_part(long, short) == CommonPart(0, 3, False)


@pytest.mark.parametrize(
    "other",
    [
        batch(3, 1, topic("other")),
        batch(3, 1, topic("mine!"), timestamp=1),
        batch(3, 2, leader_change(2)),
        batch(3, 1, topic("mine!"), topic("more")),
    ],
    ids=["content", "time", "epoch", "size"],
)
def test_logs_part_where_content_time_epoch_or_size_differ(tmp_path: Path, other: bytes) -> None:
    a = _index(tmp_path / "a", *_START, batch(3, 1, topic("mine!")))
    b = _index(tmp_path / "b", *_START, other)
    assert common_part(a, b) == CommonPart(0, 3, is_parted=True)


def test_difference_is_found_after_thousands_of_equal_batches(tmp_path: Path) -> None:
    noops = [batch(offset, 1, NoOpRecord()) for offset in range(1, 10_000)]
    a = _index(tmp_path / "a", batch(0, 1, leader_change()), *noops)
    noops[8_999] = batch(9_000, 1, NoOpRecord(), timestamp=7)
    b = _index(tmp_path / "b", batch(0, 1, leader_change()), *noops)
    assert common_part(a, b) == CommonPart(0, 9_000, is_parted=True)


def test_log_that_starts_later_is_compared_from_there(tmp_path: Path) -> None:
    whole, cut = LogFiles(tmp_path / "whole"), LogFiles(tmp_path / "cut")
    two_segments(whole, leader_epochs=False)
    shutil.copytree(whole.partition, cut.partition, dirs_exist_ok=True)
    (cut.partition / f"{0:020d}.log").unlink()
    cut.checkpoint(7, 3, checkpoint(3, topic()))
    a, b = (index_directory(open_directory(files.directory)) for files in (whole, cut))
    assert common_part(a, b) == CommonPart(7, 12, is_parted=False)


@pytest.mark.parametrize(("epoch", "part"), [(1, CommonPart(5, 5, False)), (2, None)])
def test_bare_checkpoint_is_compared_by_its_epoch(
    tmp_path: Path, epoch: int, part: CommonPart | None
) -> None:
    whole, bare = LogFiles(tmp_path / "whole"), LogFiles(tmp_path / "bare")
    two_segments(whole, leader_epochs=False)
    bare.checkpoint(5, epoch, checkpoint(epoch, topic()))
    a, b = (index_directory(open_directory(files.directory)) for files in (whole, bare))
    assert common_part(a, b) == (part or CommonPart(4, 4, is_parted=True))


def test_logs_without_a_common_offset_are_not_compared(tmp_path: Path) -> None:
    bare = LogFiles(tmp_path / "bare")
    bare.checkpoint(100, 1, checkpoint(1, topic()))
    ahead = index_directory(open_directory(bare.directory))
    behind = _index(tmp_path / "a", *_START)
    assert common_part(ahead, behind) is None
    assert Comparison([ahead, behind]).common_end is None
    assert Comparison([ahead, behind]).behind(1) == 97


def test_empty_log_is_the_beginning_of_every_log(tmp_path: Path) -> None:
    assert common_part(BatchIndex(0), _index(tmp_path / "a", *_START)) == CommonPart(0, 0, False)


@pytest.mark.parametrize("collapse", [True, False])
def test_mirror_equals_its_source_and_shows_where_it_ends(tmp_path: Path, collapse: bool) -> None:
    source = _index(tmp_path / "a", *_START, *_NOOPS, batch(9, 1, topic("last")))
    earlier = LogFiles(tmp_path / "b")
    earlier.segment(0, *_START, *_NOOPS[:4])
    mirror = _mirror(tmp_path / "b", tmp_path / "mirror", collapse=collapse)
    assert any(mirror[number].is_run for number in range(len(mirror))) is collapse
    assert common_part(mirror, source) == common_part(source, mirror) == CommonPart(0, 7, False)


def test_change_inside_a_run_of_noops_parts_the_logs(tmp_path: Path) -> None:
    changed = (*_NOOPS[:2], batch(5, 1, topic("hidden")), *_NOOPS[3:])
    LogFiles(tmp_path / "a").segment(0, *_START, *_NOOPS)
    mirror = _mirror(tmp_path / "a", tmp_path / "mirror", collapse=True)
    other = _index(tmp_path / "b", *_START, *changed)
    assert common_part(mirror, other) == CommonPart(0, 5, is_parted=True)


def test_damage_ends_the_index_and_is_told(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "a")
    path = files.segment(0, *_START, *_NOOPS)
    content = bytearray(path.read_bytes())
    content[-80] ^= 1
    path.write_bytes(content)
    index = index_directory(open_directory(files.directory))
    assert index.damage is not None
    assert "offsets below 7 are intact" in index.damage
    assert index.end_offset == 7


def test_higher_epoch_is_ahead_of_a_longer_log(tmp_path: Path) -> None:
    longer = _index(tmp_path / "a", *_START, *_NOOPS)
    newer = _index(tmp_path / "b", *_START, batch(3, 2, leader_change(2)))
    behind = _index(tmp_path / "c", _START[0])
    found = Comparison([longer, newer, behind])
    assert found.ahead == 1
    assert found.common_end == 1
    assert found.parting == 3
    assert [found.behind(i) for i in range(3)] == [1, 0, 3]
    assert found.branches == [Branch(1, 1), Branch(0, 3)]
    assert found.holders(1, 2) == [0, 1]


def _has_several_nodes(data_set: DataSet) -> bool:
    names = [each.name for each in data_sets()]
    return names.count(data_set.name) == 3


@each_data_set_where(_has_several_nodes)
def test_real_nodes_of_one_cluster_are_prefixes_of_each_other(
    tmp_path: Path, data_set: DataSet
) -> None:
    others = [each for each in data_sets() if each.name == data_set.name and each != data_set]
    mine, *rest = (
        index_directory(open_directory(each.materialise(tmp_path))) for each in (data_set, *others)
    )
    for other in rest:
        end = min(mine.end_offset, other.end_offset)
        assert common_part(mine, other) == CommonPart(0, end, is_parted=False)
