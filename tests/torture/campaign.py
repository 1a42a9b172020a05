"""The interface of a campaign: a module that tries to break the log in one way, in numbered pieces.

A piece is identified by its seed, gives the same result whenever it is run, and takes seconds, so
that pieces can be spread over processes and a campaign can be interrupted and resumed. To add a
campaign, write a module with the members of `Campaign` and add it to `registry.py`.
"""

from typing import Protocol

import msgspec

LOG_SOURCES: tuple[str, ...] = ("records", "metadata_log", "tests/simulated_disk", "tests/torture")
"""What a campaign against the log depends on."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a failure: a piece, and a position in it if the campaign has one.

    `point` is the number of the I/O boundary (or of whatever the campaign counts) within the piece,
    `state_id` the variant at this point, `keep` the operations of the workload that are left after
    shrinking (None: all of them).
    """

    seed: int
    point: int | None = None
    state_id: int | None = None
    keep: tuple[int, ...] | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failure, and the place at which it can be reproduced."""

    campaign: str
    place: Place
    message: str

    @property
    def command(self) -> str:
        """The command that reproduces it."""
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
    """The result of running a piece.

    `done` counts the cases, `distinct` those that differ from all earlier cases of the same piece:
    equal ones are counted, but not checked again. `notes` are measurements, one per line;
    `times_s` are seconds measured, by what was measured.
    """

    done: int
    distinct: int
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    times_s: dict[str, list[float]] = {}


class Campaign(Protocol):
    """The members of a campaign's module.

    Attributes:
        NAME: Its name on the command line.
        TEST: What is tested, for the table.
        TARGET: Number of distinct cases to reach.
        SEEDS_MIN: Least number of pieces to run, whatever the target.
        SEEDS_MAX: Number of pieces; None if there is no limit.
        SOURCES: The folders with the code that determines the results: code under test, and tests.
    """

    NAME: str
    TEST: str
    TARGET: int
    SEEDS_MIN: int
    SEEDS_MAX: int | None
    SOURCES: tuple[str, ...]

    def run(self, seed: int) -> Outcome:
        """Run a piece. Failures are returned, not raised; a few of each kind are enough."""
        ...

    def reproduce(self, place: Place) -> Outcome:
        """Run the part of a piece at the place of a failure."""
        ...

    def shrink(self, failure: Failure) -> Failure:
        """Return a smaller failure, or the same one if it cannot be shrunk."""
        ...
