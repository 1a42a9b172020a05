"""Power losses while a mirror is appended to and cut: what stays is whole, and long enough."""

import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from metadata_log.log_reader import LogReader
from metadata_log.mirror_writer import MirrorWriter
from records.control import NoOpRunRecord
from records.envelope import Envelope
from tests.metadata_log.mirrors import level_row, new_mirror, rows_of, run_row
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import ROOT, DiskState, SimulatedDisk

LOG = Path(ROOT) / "log"
_STATES_PER_POINT = 4


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def _end(rows: list[Envelope]) -> int:
    if not rows:
        return 0
    last = rows[-1]
    return last.offset + (last.payload.count if isinstance(last.payload, NoOpRunRecord) else 1)


class Life:
    """What a mirror may hold after a crash: at least `kept`, and more of `old` or of `new`."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = Random(seed)
        files = {f"{LOG}/{path.name}": path.read_bytes() for path in directory.iterdir()}
        self.disk = SimulatedDisk({ROOT: None, str(LOG): None, **files})
        self.old: list[Envelope] = []
        self.new: list[Envelope] = []
        self.kept: list[Envelope] = []
        self.confirmed_end = 0
        self.cases: list[tuple[DiskState, list[Envelope], list[Envelope], list[Envelope], int]] = []
        self.disk.boundary = self._at_boundary

    def _at_boundary(self) -> None:
        losses = PowerLosses(self.disk, str(self.disk.boundary_count))
        for number in losses.sample(self.random, _STATES_PER_POINT):
            state = losses.state(number)
            case = (state, [*self.kept], [*self.old], [*self.new], self.confirmed_end)
            self.cases.append(case)

    def live(self) -> None:
        """Open the mirror; append, cut, commit; close it."""
        epoch = 1 + max([row.leader_epoch for row in self.new], default=0)
        with MirrorWriter(LOG, fs=self.disk) as writer:
            for _ in range(self.random.randint(1, 3)):
                end = _end(self.new)
                if self.random.random() < 0.5 and end > self.confirmed_end:
                    self._cut(writer, self.random.randint(self.confirmed_end, end - 1))
                for _ in range(self.random.randint(0, 3)):
                    at = _end(self.new)
                    row = level_row(at, epoch)
                    if self.random.random() < 0.3:
                        row = run_row(at, count=5, last_timestamp=at + 4, epoch=epoch)
                    self.new.append(row)
                    writer.append([row], _end(self.new))
                confirmed = self.random.choice([0, 0, _end(self.new)])
                writer.commit(confirmed)
                self.confirmed_end = max(self.confirmed_end, confirmed)
                self.old, self.kept = [*self.new], [*self.new]

    def _cut(self, writer: MirrorWriter, end: int) -> None:
        new = [row for row in self.new if row.offset < end]
        whole = [*new]
        if _end(new) > end:
            run = new.pop()
            whole = [*new]
            part = run_row(
                run.offset,
                count=end - run.offset,
                last_timestamp=end - 1,
                epoch=run.leader_epoch,
            )
            new.append(part)
        self.new, self.kept = new, whole
        writer.cut(end, end - 1)
        self.old, self.kept = [*new], [*new]


def _judge(
    state: DiskState,
    kept: list[Envelope],
    old: list[Envelope],
    new: list[Envelope],
    confirmed_end: int,
) -> None:
    disk = SimulatedDisk(state)
    with MirrorWriter(LOG, fs=disk) as writer:
        assert writer.confirmed_end >= confirmed_end
        assert writer.end_offset >= confirmed_end
        after = level_row(writer.end_offset, epoch=999)
        writer.append([after], after.offset + 1)
    with LogReader.open(LOG, fs=disk) as reader:
        *found, last = rows_of(reader)
    assert last == after
    assert found[: len(kept)] == kept
    assert found in (old[: len(found)], new[: len(found)])


@pytest.mark.parametrize("seed", range(2))
def test_crash_at_every_boundary_leaves_a_whole_mirror(tmp_path: Path, seed: int) -> None:
    life = Life(seed, new_mirror(tmp_path / "log", []))
    for _ in range(3):
        life.live()
    assert len(life.cases) > 100
    for case in life.cases:
        _judge(*case)
