"""Power losses of a node at every I/O boundary, while it follows, leads, or recovers.

Its folder is a copy of a shared log, so the last column of the table of recovery holds: cut to the
last block whose chain checks, and fetch the rest.
"""

import asyncio

from tests.shared_log.node_life import NodeLife, make_operations
from tests.simulated_disk.disk import state_key
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.explorer import Found, only, sampled
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import failures_of, kept_operations, shrink_workload

NAME = "nodes_power"
TEST = "crash states of a node's folder"
TARGET = 50_000
SEEDS_MIN = 100
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (*LOG_SOURCES, "tests/shared_log")

_OPERATIONS = 12
_STATES_PER_POINT = 12


def run(seed: int) -> Outcome:
    """Check some states at each boundary of a node's operations."""
    return _explore(Place(seed=seed))


def reproduce(place: Place) -> Outcome:
    """Check the states of one boundary, or one of them."""
    return _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out, then look for a simpler state at the boundary that still fails."""
    return shrink_workload(failure, _OPERATIONS, _explore)


def _explore(place: Place) -> Outcome:
    return asyncio.run(_lived(place))


async def _lived(place: Place) -> Outcome:
    chooser = sampled(place.seed, _STATES_PER_POINT)
    if place.point is not None:
        chooser = only(place.point, place.state_id, chooser)
    life = NodeLife(place.seed, chooser)
    found: list[Found] = []
    keys: set[int] = set()
    try:
        truth = await life.run(kept_operations(make_operations(place.seed, _OPERATIONS), place))
        for case in life.cases:
            key = hash((state_key(case.state), case.reported))
            if key not in keys:
                keys.add(key)
                try:
                    await truth.judge(case)
                except Violation as violation:
                    found.append(Found(str(violation), case.point, case.number))
    except Exception as error:
        found.append(Found(f"{type(error).__name__}: {error}"))
    failures = failures_of(NAME, place, found)
    return Outcome(done=len(life.cases), distinct=len(keys), failures=failures)
