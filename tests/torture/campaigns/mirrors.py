"""Power losses at every I/O boundary while a mirror is appended to, cut, and opened again."""

from tests.simulated_disk.disk import state_key
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.explorer import Found, only, sampled
from tests.simulated_disk.mirror_life import MirrorLife, judge_mirror, make_operations
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import failures_of, kept_operations, shrink_workload

NAME = "mirrors"
TEST = "crash states of a mirror's appends and cuts"
TARGET = 100_000
SEEDS_MIN = 100
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = LOG_SOURCES

_OPERATIONS = 12
_STATES_PER_POINT = 12


def run(seed: int) -> Outcome:
    """Check some states at each boundary of a mirror's operations."""
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
    operations = kept_operations(make_operations(place.seed, _OPERATIONS), place)
    found: list[Found] = []
    keys: set[int] = set()
    done = 0
    try:
        for case in MirrorLife(place.seed, chooser).run(operations):
            done += 1
            key = hash((state_key(case.state), case.duty))
            if key in keys:
                continue
            keys.add(key)
            try:
                judge_mirror(case)
            except Violation as violation:
                found.append(Found(str(violation), case.point, case.number))
    except Exception as error:
        found.append(Found(f"{type(error).__name__}: {error}"))
    return Outcome(done=done, distinct=len(keys), failures=failures_of(NAME, place, found))
