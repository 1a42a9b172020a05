"""Power losses and process crashes at every I/O boundary of random workloads."""

from tests.simulated_disk.explorer import Explorer, only, sampled
from tests.simulated_disk.workload import make_workload
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import failures_of, kept_operations, shrink_workload

NAME = "crashes"
TEST = "crash states at every I/O boundary"
TARGET = 1_000_000
SEEDS_MIN = 400
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = LOG_SOURCES

_OPERATIONS = 12
_STATES_PER_POINT = 12


def run(seed: int) -> Outcome:
    """Check some states at each boundary of a workload."""
    return _explore(Place(seed=seed))


def reproduce(place: Place) -> Outcome:
    """Check the states of one boundary, or one of them."""
    return _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out, then look for a simpler state at the boundary that still fails."""
    return shrink_workload(failure, _OPERATIONS, _explore)


def _explore(place: Place) -> Outcome:
    chooser = sampled(place.seed, _STATES_PER_POINT)
    if place.point is not None:
        chooser = only(place.point, place.state_id, chooser)
    explorer = Explorer(place.seed, chooser)
    explorer.run(kept_operations(make_workload(place.seed, _OPERATIONS), place))
    return Outcome(
        done=explorer.explored,
        distinct=explorer.distinct,
        failures=failures_of(NAME, place, explorer.found),
    )
