"""The files that `retain` removes, in which order, and the state after a power loss in between.

The log must be readable at every point, with the same images: its segments have no gap, and a
checkpoint is at or above the first of them.
"""

import itertools
from pathlib import Path

import pytest

from metadata_log.care.retention import RETAIN_LOCK, drop_below
from metadata_log.files.fs import OsFs
from metadata_log.files.names import checkpoint_id, index_name, segment_name, segment_offsets
from metadata_log.reader.log_reader import LogReader
from replay.care.retain import retain
from tests.own_logs import write_history
from tests.replay.care.conftest import digests
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import ROOT, DiskState, SimulatedDisk, state_key

LOG = Path(ROOT) / "log"
RANDOM_STATES = 4


@pytest.fixture
async def small(tmp_path: Path) -> Path:
    """A log of four segments."""
    return await write_history(tmp_path / "log", seed=2, batches=12, batches_an_epoch=3)


def loaded(log: Path) -> DiskState:
    """Return a log as the content of a simulated disk."""
    files: DiskState = {str(LOG / path.name): path.read_bytes() for path in log.iterdir()}
    return {ROOT: None, str(LOG): None, **files}


def digests_on(disk: SimulatedDisk, start: int) -> dict[int, str]:
    with LogReader.open(LOG, fs=disk) as reader:
        return digests(reader, start)


def test_log_has_its_images_after_a_power_loss_at_any_point_of_two_removals(small: Path) -> None:
    disk = SimulatedDisk(loaded(small))
    with LogReader.open(LOG, fs=disk) as reader:
        bases = [int(path.stem) for path in reader.segment_paths]
    before = digests_on(disk, bases[-1])
    seen: dict[int, DiskState] = {}

    def look() -> None:
        losses = PowerLosses(disk, f"{disk.boundary_count}")
        # All systematic ones, so also each in which one removal is lost, and a few random ones.
        for number in range(losses.count + RANDOM_STATES):
            state = losses.state(number)
            seen.setdefault(state_key(state), state)

    disk.boundary = look
    for start in (bases[1], bases[-1]):
        retain(LOG, start, fs=disk, check_dropped=lambda segments: None)
    look()
    assert len(seen) > 20
    for state in seen.values():
        left = segment_offsets([Path(name).name for name in state])
        assert left == bases[-len(left) :]
        assert digests_on(SimulatedDisk(state), bases[-1]) == before


def test_removals_are_on_stable_storage_when_it_returns(small: Path) -> None:
    disk = SimulatedDisk(loaded(small))
    with LogReader.open(LOG, fs=disk) as reader:
        bases = [int(path.stem) for path in reader.segment_paths]
    for start in bases[1:]:
        retain(LOG, start, fs=disk, check_dropped=lambda segments: None)
        names = [Path(name).name for name in disk.after_power_loss({})]
        assert segment_offsets(names) == [base for base in bases if base >= start]
        checkpoints = [found for name in names if (found := checkpoint_id(name))]
        assert [offset for offset, _ in checkpoints] == [start]


def test_removed_are_the_segments_below_the_start_their_indexes_and_older_bases(
    small: Path,
) -> None:
    fs = OsFs()
    bases = segment_offsets(fs.list(small))
    for before, start in itertools.pairwise(bases):
        present = set(fs.list(small))
        result = retain(small, start, check_dropped=lambda segments: None)
        assert (result.previous_history_start, result.history_start) == (before, start)
        gone = present - set(fs.list(small))
        older = {name for name in present if (found := checkpoint_id(name)) and found[0] < start}
        assert len(older) == (before > 0)
        assert index_name(before) in present
        assert gone == {segment_name(before), index_name(before), *older}
        (base,) = set(fs.list(small)) - present - {RETAIN_LOCK}
        identity = checkpoint_id(base)
        assert identity is not None
        assert identity[0] == start
        assert drop_below(fs, small, start) == []


def test_segment_without_an_index_is_removed(small: Path) -> None:
    fs = OsFs()
    first, start, *_ = segment_offsets(fs.list(small))
    (small / index_name(first)).unlink()
    retain(small, start, check_dropped=lambda segments: None)
    assert segment_offsets(fs.list(small))[0] == start
