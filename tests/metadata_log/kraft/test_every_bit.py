"""Any flipped bit in a log or a checkpoint is reported, and never ignored.

The suite flips every third bit, with SAMPLES=whole all of them. The exceptions are named in
`metadata_log/kraft/epochs.py`, and tested here too.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.batch import KraftBatch
from records.control import NoOpRecord
from records.errors import CorruptLogError
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    partition_change,
    topic,
    two_segments,
)
from tests.samples import cases, sampled

# Not divisible by 8: of each byte other bits are flipped.
_STEP = cases(1, 3)
_EPOCH_BITS = range(12 * 8, 16 * 8)


def _log(directory: Path) -> list[KraftBatch]:
    return list(open_directory(directory).batches())


def _unnoticed(
    path: Path, read: Callable[[], object], within: range | None = None, *, step: int = 1
) -> list[int]:
    """Flip each bit of a file, one at a time, and return those that `read` did not refuse.

    Args:
        within: Range of the bytes whose bits are flipped; the returned bits count from its start.
        step: Flip only every `step`-th bit.
    """
    data = path.read_bytes()
    within = range(len(data)) if within is None else within
    unnoticed = []
    for bit in range(0, len(within) * 8, step):
        flipped = bytearray(data)
        flipped[within[bit // 8]] ^= 0x80 >> bit % 8
        path.write_bytes(flipped)
        try:
            read()
        except CorruptLogError:
            continue
        unnoticed.append(bit)
    path.write_bytes(data)
    return unnoticed


@sampled
def test_no_bit_of_a_segment_flips_unnoticed(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    two_segments(files, leader_epochs=False)
    assert len(_log(files.directory)) == 8
    segments = sorted(files.partition.glob("*.log"))
    assert len(segments) == 2
    for path in segments:
        assert _unnoticed(path, lambda: _log(files.directory), step=_STEP) == []


@sampled
def test_no_bit_of_a_checkpoint_flips_unnoticed(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "node")
    kept = KraftCheckpoint(files.checkpoint(8, 3, checkpoint(3, topic(), partition_change())))
    assert len(list(kept.batches())) == 3
    assert _unnoticed(kept.path, kept.verify, step=_STEP) == []


@sampled
@pytest.mark.parametrize("left", [1, 30, 71])
def test_no_bit_flips_unnoticed_before_an_incomplete_batch(tmp_path: Path, left: int) -> None:
    files = LogFiles(tmp_path / "node")
    whole = batch(0, 1, leader_change()) + batch(1, 1, NoOpRecord())
    path = files.segment(0, whole, batch(2, 1, NoOpRecord())[:left])
    assert len(_log(files.directory)) == 2
    assert _unnoticed(path, lambda: _log(files.directory), range(len(whole)), step=_STEP) == []


def test_epoch_that_holds_nothing_but_its_announcement_is_guarded_by_the_list_of_epochs(
    tmp_path: Path,
) -> None:
    files = LogFiles(tmp_path / "node")
    first = batch(0, 1, leader_change())
    path = files.segment(0, first, batch(1, 4, leader_change()), batch(2, 7, leader_change()))
    files.leader_epochs({1: 0, 4: 1, 7: 2})
    assert _unnoticed(path, lambda: _log(files.directory)) == []

    shutil.copytree(files.directory, tmp_path / "alone")
    alone = tmp_path / "alone" / files.partition.name
    (alone / "leader-epoch-checkpoint").unlink()
    # 4 becomes 5 or 6, and 7 becomes 5 or 6 or anything higher.
    behind_first = range(len(first), path.stat().st_size)
    unnoticed = _unnoticed(alone / path.name, lambda: _log(alone), behind_first)
    last = len(batch(1, 4, leader_change())) * 8
    low, high = [last + bit for bit in _EPOCH_BITS[-2:]], [last + bit for bit in _EPOCH_BITS[1:-3]]
    assert unnoticed == [*_EPOCH_BITS[-2:], *high, *low]
