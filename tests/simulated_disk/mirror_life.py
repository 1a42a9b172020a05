"""Operations on a mirror on a simulated disk: it is appended to, cut, closed, and loses power.

A block holds one batch or several, and a cut may be inside a block.

At each I/O boundary some of the states that a power loss may leave are collected, each with its
possible content: at least the rows that are known to be there, and more of the rows before or after
the operation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from metadata_log.format.segment import SegmentHeader
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror_writer import MirrorWriter
from records.control import NoOpRunRecord
from records.envelope import Envelope
from tests.metadata_log.mirrors import level_row, mirror_of_blocks, rows_of, run_row
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import ROOT, DiskState, SimulatedDisk
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.explorer import Chooser
from tests.simulated_disk.operations import Operation, random_operations

LOG = Path(ROOT) / "log"
# Above every epoch of a life.
_EPOCH_AFTER = 999
# Small, so that a life has several segments.
_HEADER = SegmentHeader(cluster_id="kafka-cluster", base_offset=0, leader_epoch=1)
_SEGMENT_SIZE_BYTES_MAX = len(_HEADER.encode()) + 600


class Kind(StrEnum):
    """The kinds of operations on a mirror."""

    APPEND = "append"
    COMMIT = "commit"
    CONFIRM = "confirm"  # a commit, and all of it is confirmed
    CUT = "cut"
    REOPEN = "reopen"
    POWER_LOSS = "power-loss"


_WEIGHTS = {
    Kind.APPEND: 6,
    Kind.COMMIT: 3,
    Kind.CONFIRM: 0.5,
    Kind.CUT: 3,
    Kind.REOPEN: 2,
    Kind.POWER_LOSS: 1,
}


def make_operations(seed: int, count: int) -> list[Operation[Kind]]:
    """Return `count` operations, after two that give the mirror some content."""
    first = (Kind.APPEND, Kind.COMMIT)
    return random_operations(Random(seed), _WEIGHTS, seed, count, first)


@dataclass(frozen=True, slots=True)
class Duty:
    """The content a mirror may have: all of `kept`, and a prefix of `old` or of `new`."""

    kept: tuple[Envelope, ...] = ()
    old: tuple[Envelope, ...] = ()
    new: tuple[Envelope, ...] = ()
    confirmed_end: int = 0


@dataclass(frozen=True, slots=True)
class MirrorCase:
    """A state that a power loss may leave at an I/O boundary."""

    point: int
    number: int
    state: DiskState
    duty: Duty


@dataclass
class MirrorLife:
    """Runs operations.

    Attributes:
        choose: Chooses the states to collect at a boundary.
    """

    seed: int
    choose: Chooser
    _duty: Duty = field(default_factory=Duty)
    _epoch: int = 1
    _point: int = 0
    _cases: list[MirrorCase] = field(default_factory=list)

    def run(self, operations: Sequence[Operation[Kind]]) -> Iterator[MirrorCase]:
        """Yield the cases of each operation after it is done."""
        self._disk = _disk_with_a_mirror(holds_batches=self.seed % 4 > 0)
        self._open()
        for operation in operations:
            yield from self._taken()
            self._run(operation.kind, operation.random())
        self._close()
        yield from self._taken()

    def _taken(self) -> list[MirrorCase]:
        taken, self._cases = self._cases, []
        return taken

    def _run(self, kind: Kind, random: Random) -> None:
        match kind:
            case Kind.APPEND:
                self._append(random)
            case Kind.COMMIT:
                self._commit()
            case Kind.CONFIRM:
                self._commit(_end(self._duty.new))
            case Kind.CUT:
                self._cut(random)
            case Kind.REOPEN:
                self._close()
                self._open()
            case Kind.POWER_LOSS:
                self._lose_power(random)

    def _open(self) -> None:
        self._disk.boundary = self._collect
        self._writer = MirrorWriter(
            LOG, fs=self._disk, segment_size_bytes_max=_SEGMENT_SIZE_BYTES_MAX
        )

    def _close(self) -> None:
        self._writer.close()
        self._know(self._duty.new)

    def _append(self, random: Random) -> None:
        for _ in range(random.randint(1, 3)):
            block: list[Envelope] = []
            for _ in range(random.choice((1, 1, 2, 4))):
                at = _end(block or self._duty.new)
                row = level_row(at, self._epoch)
                if random.random() < 0.3:
                    row = run_row(at, count=5, last_timestamp=at + 4, epoch=self._epoch)
                block.append(row)
            duty = self._duty
            self._duty = Duty(duty.kept, duty.old, (*duty.new, *block), duty.confirmed_end)
            self._writer.append(block, _end(block))

    def _commit(self, confirmed_end: int = 0) -> None:
        self._writer.commit(confirmed_end)
        self._know(self._duty.new, confirmed_end)

    def _cut(self, random: Random) -> None:
        self._commit()
        old, first = self._duty.new, self._duty.confirmed_end
        end = random.randint(first, max(_end(old) - 1, first))
        whole = tuple(row for row in old if _end((row,)) <= end)
        new = whole + tuple(
            run_row(
                row.offset,
                count=end - row.offset,
                last_timestamp=end - 1,
                epoch=row.leader_epoch,
            )
            for row in old
            if row.offset < end < _end((row,))
        )
        self._duty = Duty(whole, old, new, first)
        self._writer.cut(end, end - 1)
        self._know(new)
        self._epoch += 1

    def _lose_power(self, random: Random) -> None:
        """Continue from a state that a power loss leaves between two operations."""
        losses = PowerLosses(self._disk, f"loss/{self.seed}/{self._point}")
        number = random.choice(losses.sample(random, 6))
        self._disk = SimulatedDisk(losses.state(number))
        self._open()
        with LogReader.open(LOG, fs=self._disk) as reader:
            found = tuple(rows_of(reader))
        check(self._duty, found, self._writer)
        self._know(found)
        self._epoch += 1

    def _know(self, rows: tuple[Envelope, ...], confirmed_end: int = 0) -> None:
        self._duty = Duty(rows, rows, rows, max(self._duty.confirmed_end, confirmed_end))

    def _collect(self) -> None:
        self._point += 1
        losses = PowerLosses(self._disk, f"{self.seed}/{self._point}")
        for number in self.choose(self._point, losses):
            self._cases.append(MirrorCase(self._point, number, losses.state(number), self._duty))


def _disk_with_a_mirror(*, holds_batches: bool) -> SimulatedDisk:
    """Return a disk with an empty mirror, of this release or of one with one batch per block."""
    with TemporaryDirectory() as folder:
        directory = mirror_of_blocks(Path(folder) / "log", [], holds_batches=holds_batches)
        files = {f"{LOG}/{path.name}": path.read_bytes() for path in directory.iterdir()}
    return SimulatedDisk({ROOT: None, str(LOG): None, **files})


def judge_mirror(case: MirrorCase) -> None:
    """Open the state that a power loss left, append to it, and read it all.

    Raises:
        Violation: rows are missing that must be there, or there are rows that were never written.
    """
    disk = SimulatedDisk(case.state)
    try:
        with MirrorWriter(LOG, fs=disk) as writer:
            after = level_row(writer.end_offset, epoch=_EPOCH_AFTER)
            writer.append([after], after.offset + 1)
            with LogReader.open(LOG, fs=disk) as reader:
                before = tuple(rows_of(reader))
            check(case.duty, before, writer)
        with LogReader.open(LOG, fs=disk) as reader:
            found = tuple(rows_of(reader))
    except Violation:
        raise
    except Exception as error:
        raise Violation(f"{type(error).__name__}: {error}") from error
    if found != (*before, after):
        raise Violation("what was appended after the power loss is not what is read")


def check(duty: Duty, found: tuple[Envelope, ...], writer: MirrorWriter) -> None:
    """Check the content of a mirror after a power loss.

    Raises:
        Violation: the content is not allowed.
    """
    if writer.confirmed_end < duty.confirmed_end:
        raise Violation(f"confirmed below {writer.confirmed_end}, it was {duty.confirmed_end}")
    if found[: len(duty.kept)] != duty.kept:
        raise Violation(f"{len(found)} rows, and not the {len(duty.kept)} that were kept")
    if found not in (duty.old[: len(found)], duty.new[: len(found)]):
        raise Violation(f"{len(found)} rows that were never together in the mirror")


def _end(rows: Sequence[Envelope]) -> int:
    if not rows:
        return 0
    last = rows[-1]
    return last.offset + (last.payload.count if isinstance(last.payload, NoOpRunRecord) else 1)
