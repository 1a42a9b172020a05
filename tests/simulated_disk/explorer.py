"""Runs a workload, and checks the states that a crash at each I/O boundary may leave."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import DiskState, state_key
from tests.simulated_disk.driver import Driver
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.history import Known
from tests.simulated_disk.verdict import judge
from tests.simulated_disk.workload import Operation

# Reading before the start, and recovering twice, are judged on each n-th state number.
EXTRA_EVERY = 4


@dataclass(frozen=True, slots=True)
class Case:
    """A crash state: its I/O boundary and number, and what was known at that moment."""

    point: int
    number: int
    state: DiskState
    known: Known
    is_created: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A broken promise; `point` is None if it broke without a crash."""

    message: str
    point: int | None = None
    number: int | None = None


Chooser = Callable[[int, PowerLosses], Sequence[int]]
"""Chooses the numbers of the crash states to judge at a boundary."""


def judge_case(case: Case) -> None:
    """Check a crash state; every few cases thoroughly.

    Raises:
        Violation: a promise is broken.
    """
    extra = case.number % EXTRA_EVERY == 0
    judge(case.state, case.known, is_created=case.is_created, extra=extra)


@dataclass
class Explorer:
    """Collects the crash states while an operation runs, and checks them afterwards.

    Attributes:
        choose: Chooses the states to check at a boundary.
        judging: The check of each state.
        explored: Number of states checked.
        distinct: Number of those that differ from all earlier ones in state or expectations.
    """

    seed: int
    choose: Chooser
    judging: Callable[[Case], None] = judge_case
    explored: int = 0
    distinct: int = 0
    found: list[Found] = field(default_factory=list)
    _is_judging: bool = True
    _cases: list[Case] = field(default_factory=list)
    _keys: set[tuple[int, int]] = field(default_factory=set)

    def run(self, operations: Sequence[Operation], *, judged_from: int = 0) -> None:
        """Run a workload to its end, or to the first promise that breaks without a crash.

        Args:
            judged_from: Index of the first operation during which crashes are checked.
        """
        driver = Driver(observe=self._observe)
        try:
            self._is_judging = judged_from == 0
            driver.start()
            self._judge_all()
            for index, operation in enumerate(operations):
                self._is_judging = index >= judged_from
                driver.run(operation)
                self._judge_all()
            driver.finish()
        except Exception as error:
            self.found.append(Found(f"{type(error).__name__}: {error}"))
        self._judge_all()

    def _observe(self, driver: Driver) -> None:
        if not self._is_judging:
            return
        losses = PowerLosses(driver.disk, f"{self.seed}/{driver.point}")
        known = driver.known()
        for number in self.choose(driver.point, losses):
            state = losses.state(number)
            self.explored += 1
            key = (state_key(state), driver.history.duties)
            if key not in self._keys:
                self._keys.add(key)
                self._cases.append(Case(driver.point, number, state, known, driver.is_created))

    def _judge_all(self) -> None:
        for case in self._cases:
            self.distinct += 1
            try:
                self.judging(case)
            except Violation as violation:
                self.found.append(Found(str(violation), case.point, case.number))
        self._cases.clear()


def sampled(seed: int, size: int) -> Chooser:
    """Choose `size` states at each boundary, the same for the same seed."""
    return lambda point, losses: losses.sample(Random(f"{seed}/{point}"), size)


def only(point: int, number: int | None, chooser: Chooser) -> Chooser:
    """Choose one state at one boundary; without a number, the states that another chooser takes
    there.
    """

    def choose(at: int, losses: PowerLosses) -> Sequence[int]:
        if at != point:
            return ()
        return chooser(at, losses) if number is None else (number,)

    return choose
