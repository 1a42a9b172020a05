"""Shrinks a failure: fewer operations, a simpler disk state."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tests.simulated_disk.explorer import Found
from tests.torture.campaign import Failure, Outcome, Place

T = TypeVar("T")
# Failures of one kind that a piece reports; the first says as much as the hundredth.
_OF_A_KIND = 2
_STATES_TRIED = 60


def kept_operations(operations: Sequence[T], place: Place) -> list[T]:
    """Return those operations of a workload that a place keeps."""
    if place.keep is None:
        return list(operations)
    return [operations[index] for index in place.keep]


def kind_of(failure: Failure) -> str:
    """Return the common part of failures with the same cause: the message without its numbers."""
    return re.sub(r"\d+|0x[0-9a-f]+", "#", failure.message)[:60]


def some_of_each_kind(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """Return the first failures of each kind."""
    seen: Counter[str] = Counter()
    kept: list[Failure] = []
    for failure in failures:
        seen[kind_of(failure)] += 1
        if seen[kind_of(failure)] <= _OF_A_KIND:
            kept.append(failure)
    return tuple(kept)


def failures_of(campaign: str, place: Place, found: Sequence[Found]) -> tuple[Failure, ...]:
    """Return the problems that an explorer found at a place, or anywhere in its piece, as
    failures.
    """
    return some_of_each_kind(
        [
            Failure(
                campaign=campaign,
                place=Place(seed=place.seed, point=one.point, state_id=one.number, keep=place.keep),
                message=one.message,
            )
            for one in found
        ]
    )


def shrink_workload(
    failure: Failure, operation_count: int, explore: Callable[[Place], Outcome]
) -> Failure:
    """Leave operations out as long as a failure of the same kind is found; then try simpler
    states.
    """
    smallest = failure
    left_out = True
    while left_out:
        left_out = False
        keep = smallest.place.keep
        for index in reversed(range(operation_count) if keep is None else keep):
            found = _same_kind(failure, explore(_without(smallest.place, index, operation_count)))
            if found is not None:
                smallest, left_out = found, True
    return _simplest_state(smallest, explore)


def _without(place: Place, index: int, operation_count: int) -> Place:
    keep = range(operation_count) if place.keep is None else place.keep
    return Place(seed=place.seed, keep=tuple(kept for kept in keep if kept != index))


def _simplest_state(failure: Failure, explore: Callable[[Place], Outcome]) -> Failure:
    place = failure.place
    if place.point is None or place.state_id is None:
        return failure
    for state_id in range(min(place.state_id, _STATES_TRIED)):
        found = _same_kind(failure, explore(msgspec.structs.replace(place, state_id=state_id)))
        if found is not None:
            return found
    return failure


def _same_kind(failure: Failure, outcome: Outcome) -> Failure | None:
    return next((f for f in outcome.failures if kind_of(f) == kind_of(failure)), None)
