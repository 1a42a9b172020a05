"""A part of each campaign: seconds of what `make torture` does for an hour."""

import logging
from collections.abc import Iterator

import pytest

from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.explorer import Case, Explorer, only, sampled
from tests.simulated_disk.workload import Kind, Operation
from tests.torture.campaign import Outcome, Place
from tests.torture.campaigns import crashes, exhaustive, io_errors, model, recovery
from tests.torture.shrinking import failures_of, kept_operations, shrink_workload


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def test_crash_at_every_boundary_of_a_workload_loses_nothing() -> None:
    outcome = crashes.run(0)
    assert outcome.failures == ()
    assert outcome.distinct > 100


def test_crashes_of_a_recovery_lose_nothing() -> None:
    outcome = recovery.reproduce(Place(seed=0, point=0))
    assert outcome.failures == ()
    assert outcome.distinct > 20


@pytest.mark.parametrize("number", [*range(10), 500, 5_000, 11_000])
def test_short_sequence_of_operations_loses_nothing(number: int) -> None:
    assert exhaustive.run(number).failures == ()


def test_sequences_are_all_different() -> None:
    kinds = {tuple(o.kind for o in exhaustive.sequence(n)) for n in range(exhaustive.TARGET)}
    assert len(kinds) == exhaustive.TARGET


@pytest.mark.parametrize("point", range(0, 300, 25))
def test_failing_call_is_survived(point: int) -> None:
    assert io_errors.reproduce(Place(seed=3, point=point)).failures == ()


def test_model_agrees_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_EXAMPLES", 5)
    assert model.run(0).failures == ()


def _fail_on_three_segments(case: Case) -> None:
    """Simulate a broken promise that occurs only after some operations, in some states."""
    if sum(path.endswith(".avro") for path in case.state) > 2:
        raise Violation("three segments are in the state")


_WORKLOAD = [
    Operation(kind, f"toy/{index}")
    for index, kind in enumerate(
        [Kind.APPEND, Kind.REOPEN, Kind.READ, Kind.APPEND, Kind.REOPEN, Kind.GATHER, Kind.WAIT]
    )
]


def _explore(place: Place) -> Outcome:
    chooser = sampled(place.seed, 4)
    if place.point is not None:
        chooser = only(place.point, place.state_id, chooser)
    explorer = Explorer(place.seed, chooser, _fail_on_three_segments)
    explorer.run(kept_operations(_WORKLOAD, place))
    return Outcome(
        done=explorer.explored,
        distinct=explorer.distinct,
        failures=failures_of("toy", place, explorer.found),
    )


def test_failure_is_seen_again_at_its_place_and_shrinks_to_what_it_needs() -> None:
    failure = _explore(Place(seed=0)).failures[0]
    assert _explore(failure.place).failures == (failure,)
    smallest = shrink_workload(failure, len(_WORKLOAD), _explore)
    assert smallest.place.keep == (1, 4)
    assert _explore(smallest.place).failures == (smallest,)
