"""Random fault schedules of a cluster: brokers, clocks and controllers fail during requests.

A case is one schedule: after each batch all invariants hold, and at the end everything in progress
completes. The `point` of a failure is the number of its schedule; it is shrunk by leaving
operations out.
"""

from msgspec.structs import replace

from records.errors import MetadataLogError
from tests.controller.schedules import Schedule
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import kept_operations, shrink_workload

NAME = "controller"
TEST = "fault schedules of a cluster"
TARGET = 10_000
SEEDS_MIN = 100
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (
    *LOG_SOURCES,
    "replay",
    "controller",
    "tests/controller",
    "tests/simulated_cluster",
)

_SCHEDULES = 100
_OPERATIONS = 80


def run(seed: int) -> Outcome:
    """Run a hundred schedules."""
    failures = [
        failure
        for number in range(seed * _SCHEDULES, (seed + 1) * _SCHEDULES)
        for failure in _explore(Place(seed=seed, point=number)).failures
    ]
    return Outcome(done=_SCHEDULES, distinct=_SCHEDULES, failures=tuple(failures))


def reproduce(place: Place) -> Outcome:
    """Run one schedule, the point; or all schedules of the piece."""
    return run(place.seed) if place.point is None else _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out of the schedule."""

    def explore(place: Place) -> Outcome:
        return _explore(replace(place, point=failure.place.point))

    return shrink_workload(failure, _OPERATIONS, explore)


def _explore(place: Place) -> Outcome:
    assert place.point is not None, "a schedule is named by its number"
    try:
        problems = Schedule(place.point).run(kept_operations(range(_OPERATIONS), place))
    except (AssertionError, MetadataLogError) as error:
        problems = [f"{type(error).__name__}: {error}"]
    failures = [Failure(campaign=NAME, place=place, message=problem) for problem in problems[:2]]
    return Outcome(done=1, distinct=1, failures=tuple(failures))
