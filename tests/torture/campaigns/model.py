"""A model of the log, with operations, faults and crashes in any order that Hypothesis generates.

Hypothesis shrinks the failing sequences by itself, and prints the smallest.
"""

import errno
from typing import ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.driver import Driver
from tests.simulated_disk.expectations import check_view
from tests.simulated_disk.faults import Fault, Faults
from tests.simulated_disk.session import read_log
from tests.simulated_disk.verdict import judge
from tests.simulated_disk.workload import Kind, Operation
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place

NAME = "model"
TEST = "steps of model-based operation sequences"
TARGET = 250_000
SEEDS_MIN = 1
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = LOG_SOURCES

_EXAMPLES = 25
_STEPS = 50

# Sequences are many and short; what costs most is left to the other campaigns.
_KINDS = [kind for kind in Kind if kind is not Kind.OVERSIZE]
_SEEDS = st.integers(0, 255)


class LogMachine(RuleBasedStateMachine):
    """The writer on a simulated disk, and the history of its requests and answers."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()
        self.driver.start()
        self.is_broken = False

    @rule(kind=st.sampled_from(_KINDS), number=_SEEDS)
    def operate(self, kind: Kind, number: int) -> None:
        self._count()
        self.driver.run(Operation(kind, str(number)))

    @precondition(lambda self: not self.is_broken)
    @rule(
        first=st.integers(0, 30),
        count=st.integers(1, 3),
        error=st.sampled_from([errno.EIO, errno.ENOSPC]),
        written=st.integers(0, 100),
        operation=st.sampled_from(["", "pwrite", "sync", "sync_directory", "pread", "create"]),
    )
    def break_disk(self, first: int, count: int, error: int, written: int, operation: str) -> None:
        self._count()
        operations = frozenset({operation} if operation else ())
        fault = Fault(first, count, error, operations, written)
        self.driver.break_disk(Faults(fault), None)
        self.is_broken = True

    @precondition(lambda self: not self.is_broken)
    @rule(room=st.integers(0, 20_000))
    def fill_disk(self, room: int) -> None:
        self._count()
        used = sum(len(content or b"") for content in self.driver.disk.visible().values())
        self.driver.break_disk(Faults(), used + room)
        self.is_broken = True

    @precondition(lambda self: self.is_broken)
    @rule()
    def mend_disk(self) -> None:
        self._count()
        self.driver.mend()
        self.is_broken = False

    @rule(number=_SEEDS)
    def power_loss_would_be_survived(self, number: int) -> None:
        self._count()
        losses = PowerLosses(self.driver.disk, "model")
        judge(losses.state(number), self.driver.known())

    @precondition(lambda self: not self.is_broken)
    @invariant()
    def reader_agrees(self) -> None:
        check_view(read_log(self.driver.disk), self.driver.known())

    def teardown(self) -> None:
        self.driver.mend()
        self.driver.finish()

    def _count(self) -> None:
        LogMachine.steps += 1


def run(seed: int) -> Outcome:
    """Run some sequences."""
    return _explore(seed, (Phase.generate,))


def reproduce(place: Place) -> Outcome:
    """Run the same sequences again; Hypothesis shrinks the failing one, which takes minutes."""
    return _explore(place.seed, (Phase.generate, Phase.shrink))


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: Hypothesis has already shrunk it."""
    return failure


def _explore(number: int, phases: tuple[Phase, ...]) -> Outcome:
    before = LogMachine.steps
    machine = seed(number)(type("SeededLogMachine", (LogMachine,), {}))
    options = settings(
        max_examples=_EXAMPLES,
        stateful_step_count=_STEPS,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    failures: tuple[Failure, ...] = ()
    try:
        run_state_machine_as_test(machine, settings=options)
    except Exception as error:
        message = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
        failures = (Failure(campaign=NAME, place=Place(seed=number), message=message),)
    steps = LogMachine.steps - before
    return Outcome(done=steps, distinct=steps, failures=failures)
