"""Bugs planted in a copy of the log: every one of them must be noticed, for the right reason.

A piece is a bug. It fails if the campaign that should notice the bug does not.
"""

from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.planted_bugs.all_bugs import BUGS
from tests.torture.planted_bugs.planted_copy import problem

NAME = "planted_bugs"
TEST = "planted bugs that are noticed"
TARGET = 25
SEEDS_MIN = len(BUGS)
SEEDS_MAX: int | None = len(BUGS)
SOURCES: tuple[str, ...] = LOG_SOURCES


def run(seed: int) -> Outcome:
    """Plant one bug, and check that it is noticed."""
    message = problem(BUGS[seed])
    if message is None:
        return Outcome(done=1, distinct=1)
    place = Place(seed=seed)
    return Outcome(
        done=1, distinct=1, failures=(Failure(campaign=NAME, place=place, message=message),)
    )


def reproduce(place: Place) -> Outcome:
    """Plant the bug again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: it is one bug."""
    return failure
