"""Crashes while a log recovers from a crash, and while it recovers from that second crash."""

from collections.abc import Iterator
from random import Random

from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import SimulatedDisk, state_key
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.explorer import Case, Explorer, judge_case, sampled
from tests.simulated_disk.history import History
from tests.simulated_disk.session import Session, StepClock
from tests.simulated_disk.workload import make_workload
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import kept_operations, shrink_workload, some_of_each_kind

NAME = "recovery"
TEST = "crash states during recovery, and during the recovery after"
TARGET = 100_000
SEEDS_MIN = 100
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = LOG_SOURCES

_OPERATIONS = 8
_STATES_PER_POINT = 4
# First crashes of one workload, whose recovery is crashed at each of its boundaries.
_FIRST_CRASHES = 8
# Of the states which that leaves, how many are recovered from with crashes again.
_SECOND_CRASHES = 3


def run(seed: int) -> Outcome:
    """Crash the recovery from some crashes of a workload."""
    return _explore(Place(seed=seed))


def reproduce(place: Place) -> Outcome:
    """Crash the recovery from one of them (the point), or check one state of it."""
    return _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out of the workload before the first crash."""
    return shrink_workload(failure, _OPERATIONS, _explore)


def _explore(place: Place) -> Outcome:
    failures: list[Failure] = []
    done = 0
    keys: set[int] = set()
    for point, first in enumerate(_first_crashes(place)):
        if place.point not in (None, point):
            continue
        for state_id, case in enumerate(_crashed_recoveries(first, f"{place.seed}/{point}")):
            if place.state_id not in (None, state_id):
                continue
            done += 1
            key = hash((point, state_key(case.state)))
            if key in keys:
                continue
            keys.add(key)
            try:
                judge_case(case)
            except Violation as violation:
                at = Place(seed=place.seed, point=point, state_id=state_id, keep=place.keep)
                failures.append(Failure(campaign=NAME, place=at, message=str(violation)))
    return Outcome(done=done, distinct=len(keys), failures=some_of_each_kind(failures))


def _first_crashes(place: Place) -> list[Case]:
    found: list[Case] = []
    explorer = Explorer(place.seed, sampled(place.seed, _STATES_PER_POINT), found.append)
    explorer.run(kept_operations(make_workload(place.seed, _OPERATIONS), place))
    created = [case for case in found if case.is_created]
    return Random(f"first/{place.seed}").sample(created, min(_FIRST_CRASHES, len(created)))


def _crashed_recoveries(first: Case, seed: str) -> Iterator[Case]:
    """Yield the states left by crashes during the recovery, and during recoveries from some of
    those.
    """
    cases = _crashed_recovery(first, seed)
    yield from cases
    again = Random(f"again/{seed}").sample(cases, min(_SECOND_CRASHES, len(cases)))
    for index, case in enumerate(again):
        yield from _crashed_recovery(case, f"{seed}/{index}")


def _crashed_recovery(before: Case, seed: str) -> list[Case]:
    """Start on a crash state, and collect states that a crash at each boundary may leave.

    The known facts do not change: before the start is complete, no caller gets an answer.
    """
    disk = SimulatedDisk(before.state)
    cases: list[Case] = []

    def observe() -> None:
        at = disk.boundary_count
        losses = PowerLosses(disk, f"{seed}/{at}")
        cases.extend(
            Case(at, number, losses.state(number), before.known, is_created=True)
            for number in losses.sample(Random(f"{seed}/{at}"), _STATES_PER_POINT)
        )

    disk.boundary = observe
    try:
        Session(disk, History(), StepClock())
    except Exception:
        # The state cannot be recovered from at all: judging it will say why.
        cases.append(before)
    return cases
