"""Random fault schedules of nodes that share a log.

Processes, power, network, store and clocks fail. A case is one schedule in virtual time (see
`tests/simulated_nodes/schedule.py`). The `point` of a failure is the number of its schedule; it is
shrunk by leaving operations out.
"""

import gc
import logging

from msgspec.structs import replace

from tests.simulated_nodes.schedule import OPERATIONS, Schedule
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import kept_operations, shrink_workload

NAME = "nodes"
TEST = "fault schedules of nodes that share a log"
TARGET = 10_000
SEEDS_MIN = 100
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (
    *LOG_SOURCES,
    "replay",
    "controller",
    "api/nodes",
    "api/service",
    "tests/simulated_nodes",
)

_SCHEDULES = 100
_FAILURES_MAX = 4
_NEW_OBJECTS_MAX = 20_000


def run(seed: int) -> Outcome:
    """Run a hundred schedules, or fewer if some of them fail."""
    # The time of the collector is a seventh of that of a schedule; there is memory for its garbage.
    gc.set_threshold(_NEW_OBJECTS_MAX, *gc.get_threshold()[1:])
    failures, done = list[Failure](), 0
    for number in range(seed * _SCHEDULES, (seed + 1) * _SCHEDULES):
        failures += _explore(Place(seed=seed, point=number)).failures
        done += 1
        if len(failures) >= _FAILURES_MAX:
            break
    return Outcome(done=done, distinct=done, failures=tuple(failures))


def reproduce(place: Place) -> Outcome:
    """Run one schedule, the point; or all schedules of the piece."""
    return run(place.seed) if place.point is None else _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out of the schedule."""

    def explore(place: Place) -> Outcome:
        return _explore(replace(place, point=failure.place.point))

    return shrink_workload(failure, OPERATIONS, explore)


def _explore(place: Place) -> Outcome:
    assert place.point is not None, "a schedule is named by its number"
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # every fault is logged, as it should be
    try:
        problems = Schedule(place.point).run(kept_operations(range(OPERATIONS), place))
    except Exception as error:
        problems = [f"{type(error).__name__}: {error}"]
    finally:
        logging.disable(disabled)
    failures = [Failure(campaign=NAME, place=place, message=problem) for problem in problems[:2]]
    return Outcome(done=1, distinct=1, failures=tuple(failures))
