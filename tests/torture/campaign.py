"""What a campaign is: a module that breaks the log in one way, in numbered pieces.

A piece is named by its seed, gives the same result whenever it is run, and takes seconds, so that
pieces can be spread over processes and a campaign can be stopped and gone on with. To add a
campaign, write a module with the members of `Campaign` and add it to `registry.py`.
"""

from typing import Protocol

import msgspec

LOG_SOURCES: tuple[str, ...] = ("records", "metadata_log", "tests/simulated_disk", "tests/torture")
"""What a campaign against the log depends on."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where something failed: a piece, and as far as the campaign goes into it.

    `point` is the I/O boundary (or whatever the campaign counts) within the piece, `state_id` the
    variant at this point, `keep` the operations of the workload that are left after shrinking
    (None: all of them).
    """

    seed: int
    point: int | None = None
    state_id: int | None = None
    keep: tuple[int, ...] | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must never happen did, at a place that can be visited again."""

    campaign: str
    place: Place
    message: str

    @property
    def command(self) -> str:
        """The command that shows it again."""
        place = self.place
        words = ["python -m tests.torture", self.campaign, f"--seed {place.seed}"]
        if place.point is not None:
            words.append(f"--point {place.point}")
        if place.state_id is not None:
            words.append(f"--state-id {place.state_id}")
        if place.keep is not None:
            words.append(f"--keep {','.join(map(str, place.keep)) or 'none'}")
        return " ".join(words)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What running a piece gave.

    `done` counts the cases, `distinct` those of them that were not equal to an earlier case of
    the same piece: equal ones are counted, not checked again. `notes` are what was measured on
    the way, a line each.
    """

    done: int
    distinct: int
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()


class Campaign(Protocol):
    """The members that a campaign's module has.

    Attributes:
        NAME: How the command line calls it.
        TEST: What is tested, for the table.
        TARGET: How many distinct cases there must be.
        SEEDS_MIN: How many pieces are run at least, whatever the target.
        SEEDS_MAX: How many pieces there are; None when there is no end of them.
        SOURCES: The folders whose code the results depend on: the code under test, and its tests.
    """

    NAME: str
    TEST: str
    TARGET: int
    SEEDS_MIN: int
    SEEDS_MAX: int | None
    SOURCES: tuple[str, ...]

    def run(self, seed: int) -> Outcome:
        """Run a piece. Failures are returned, not raised; a few of a kind are enough."""
        ...

    def reproduce(self, place: Place) -> Outcome:
        """Run the part of a piece that a failure named."""
        ...

    def shrink(self, failure: Failure) -> Failure:
        """Return a failure that is smaller, or the same one when it cannot be."""
        ...
