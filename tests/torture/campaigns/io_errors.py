"""Errors of the disk while the system runs: any call, short writes, failed syncs, a full disk.

The log must continue correctly or refuse, and never acknowledge falsely; and it must accept appends
when the disk works again. A case is one workload with one fault. The crash states after the fault,
and at the end, are checked too; a state that is equal to one of an earlier case of the piece, with
the same facts known, is not checked again.
"""

import errno
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from records.errors import FencedError, UnavailableError
from tests.simulated_disk.crash import KEPT_ALL, LOST_ALL, LOST_NEWEST, PowerLosses
from tests.simulated_disk.disk import DiskState, state_key
from tests.simulated_disk.driver import Driver
from tests.simulated_disk.faults import Call, Fault, Faults
from tests.simulated_disk.history import Known
from tests.simulated_disk.verdict import judge
from tests.simulated_disk.workload import Operation, make_workload
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import kept_operations, shrink_workload, some_of_each_kind

NAME = "io_errors"
TEST = "n-th call errors, short writes, full disk"
TARGET = 30_000
SEEDS_MIN = 20
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = LOG_SOURCES

_OPERATIONS = 6
_CAPACITIES = 20
# Boundaries after a fault at which crashes are judged, and states at the end.
_BOUNDARIES = 3
_STATES_AT_END = 4

_GROWING = frozenset({"pwrite", "create", "rename", "make_directory"})
_WRITES = frozenset({"pwrite"})


def run(seed: int) -> Outcome:
    """Run one workload with each fault in turn."""
    return _explore(Place(seed=seed))


def reproduce(place: Place) -> Outcome:
    """Run the workload with one fault, given by the point."""
    return _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out of the workload."""
    return shrink_workload(failure, _OPERATIONS, _explore)


@dataclass(frozen=True, slots=True)
class _Breakage:
    """A fault, or a disk of limited capacity."""

    fault: Fault | None = None
    capacity: int | None = None


def _explore(place: Place) -> Outcome:
    operations = kept_operations(make_workload(place.seed, _OPERATIONS), place)
    jury = _Jury()
    whole = _FaultyRun(operations, _Breakage(), jury)
    if whole.problem is not None:
        at = Place(seed=place.seed, keep=place.keep)
        return Outcome(done=0, distinct=0, failures=(_failure(at, whole.problem, "no fault"),))
    failures: list[Failure] = []
    done = distinct = 0
    for point, breakage in enumerate(_breakages(whole.calls, Random(f"faults/{place.seed}"))):
        if place.point not in (None, point):
            continue
        run = _FaultyRun(operations, breakage, jury)
        done += 1
        distinct += run.has_failed_call()
        if run.problem is not None:
            at = Place(seed=place.seed, point=point, keep=place.keep)
            failures.append(_failure(at, run.problem, str(breakage)))
    return Outcome(done=done, distinct=distinct, failures=some_of_each_kind(failures))


def _failure(at: Place, problem: str, breakage: str) -> Failure:
    return Failure(campaign=NAME, place=at, message=f"{problem} [{breakage}]")


def _breakages(calls: Sequence[Call], random: Random) -> Iterator[_Breakage]:
    """Yield the faults to try on a workload; `calls` are its calls without any fault."""
    for at in range(len(calls)):
        yield _Breakage(Fault(at, random.choice((1, 1, 3))))
    sizes = [call.size for call in calls if call.operation == "pwrite"]
    for at, size in enumerate(sizes):
        written = random.choice((1, size - 1, size, random.randrange(size + 1)))
        for error in (errno.EIO, errno.ENOSPC):
            yield _Breakage(Fault(at, 1, error, _WRITES, max(written, 0)))
    for at in range(0, sum(call.operation in _GROWING for call in calls), 3):
        yield _Breakage(Fault(at, random.randint(1, 8), errno.ENOSPC, _GROWING))
    for _ in range(_CAPACITIES):
        yield _Breakage(capacity=random.randrange(1, sum(sizes)))


class _Jury:
    """Checks crash states, each only once if it was found good."""

    def __init__(self) -> None:
        self._good: set[Hashable] = set()

    def judge(self, state: DiskState, known: Known, *, is_created: bool) -> None:
        case = (state_key(state), known.fingerprint(), is_created)
        if case not in self._good:
            judge(state, known, is_created=is_created)
            self._good.add(case)


class _FaultyRun:
    """A workload on a disk with a fault.

    Attributes:
        problem: What went wrong; None if nothing did.
        calls: Every call to the disk.
    """

    def __init__(self, operations: Sequence[Operation], breakage: _Breakage, jury: _Jury) -> None:
        self.problem: str | None = None
        self._faults = Faults(*([breakage.fault] if breakage.fault else []))
        self._cases: list[tuple[DiskState, Known, bool]] = []
        self._boundaries = _BOUNDARIES
        self._jury = jury
        driver = Driver(observe=self._observe, faults=self._faults, capacity=breakage.capacity)
        self.calls = driver.trace
        try:
            self._run(driver, operations)
            self._judge_all()
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def has_failed_call(self) -> bool:
        """Return whether the fault affected any call."""
        return self._faults.happened > 0

    def _run(self, driver: Driver, operations: Sequence[Operation]) -> None:
        try:
            driver.start()
        except (OSError, FencedError, UnavailableError):
            if not self.has_failed_call():
                raise
            driver.give_up()
        if not driver.is_created:
            self._take(driver, LOST_ALL, KEPT_ALL)
            return
        self._judge_all()
        for operation in operations:
            driver.run(operation)
            self._judge_all()
        driver.mend()
        driver.check()
        self._take(driver, *range(_STATES_AT_END))
        driver.finish()

    def _judge_all(self) -> None:
        """Check the collected states now, before a later operation submits a batch again."""
        for state, known, is_created in self._cases:
            self._jury.judge(state, known, is_created=is_created)
        self._cases.clear()

    def _observe(self, driver: Driver) -> None:
        if self.has_failed_call() and self._boundaries:
            self._boundaries -= 1
            # The newest change may be the cut that takes back what was refused.
            self._take(driver, LOST_ALL, KEPT_ALL, LOST_NEWEST)

    def _take(self, driver: Driver, *numbers: int) -> None:
        losses = PowerLosses(driver.disk, str(driver.point))
        for number in numbers:
            if number < max(losses.count, 1):
                self._cases.append((losses.state(number), driver.known(), driver.is_created))
