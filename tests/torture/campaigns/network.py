"""Random schedules of a quorum that is read over the network.

Elections, cut connections, wrong answers, restarts of either side, snapshots and log starts that
move; see `tests/quorum_schedules`. A case is one schedule, the `point` of a failure its number; it
is shrunk by leaving operations out.
"""

import logging

from msgspec.structs import replace

from tests.quorum_schedules.operations import COUNT, draw
from tests.quorum_schedules.schedule import run_schedule
from tests.torture.campaign import Failure, Outcome, Place
from tests.torture.shrinking import kept_operations, shrink_workload

NAME = "network"
TEST = "schedules of a quorum that is read over the network"
TARGET = 10_000
SEEDS_MIN = 100
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (
    "records",
    "metadata_log",
    "api/kafka",
    "api/quorum",
    "tests/stand_in_quorum",
    "tests/quorum_schedules",
)

_SCHEDULES = 20


def run(seed: int) -> Outcome:
    """Run twenty schedules."""
    failures = [
        failure
        for number in range(seed * _SCHEDULES, (seed + 1) * _SCHEDULES)
        for failure in _explore(Place(seed=seed, point=number)).failures
    ]
    return Outcome(done=_SCHEDULES, distinct=_SCHEDULES, failures=tuple(failures[:4]))


def reproduce(place: Place) -> Outcome:
    """Run one schedule, the point; or all schedules of the piece."""
    return run(place.seed) if place.point is None else _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out of the schedule."""

    def explore(place: Place) -> Outcome:
        return _explore(replace(place, point=failure.place.point))

    return shrink_workload(failure, COUNT, explore)


def _explore(place: Place) -> Outcome:
    assert place.point is not None, "a schedule is named by its number"
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # every failure is logged, as it should be
    failures: tuple[Failure, ...] = ()
    try:
        run_schedule(place.point, kept_operations(draw(place.point), place))
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        failures = (Failure(campaign=NAME, place=place, message=message),)
    finally:
        logging.disable(disabled)
    return Outcome(done=1, distinct=1, failures=failures)
