"""Every sequence of up to four operations, with a crash at each I/O boundary of the last one.

Crashes in earlier operations of a sequence are covered by a shorter sequence. A seed is the number
of a sequence; the distinct cases are crash states.
"""

from tests.simulated_disk.explorer import Explorer, only, sampled
from tests.simulated_disk.workload import Kind, Operation
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.shrinking import failures_of, kept_operations, shrink_workload

NAME = "exhaustive"
TEST = "sequences of up to 4 operations (distinct: crash states)"

_ALPHABET = (
    Kind.APPEND,
    Kind.GATHER,
    Kind.MISTAKEN,
    Kind.CANCEL,
    Kind.FILL,
    Kind.READ,
    Kind.WAIT,
    Kind.REOPEN,
    Kind.POWER_LOSS,
    Kind.TAKEOVER,
)
_LENGTH_MAX = 4
_STATES_PER_POINT = 5

TARGET = sum(len(_ALPHABET) ** length for length in range(1, _LENGTH_MAX + 1))
SEEDS_MIN = TARGET
SEEDS_MAX: int | None = TARGET
SOURCES: tuple[str, ...] = LOG_SOURCES


def run(seed: int) -> Outcome:
    """Run one sequence."""
    return _explore(Place(seed=seed))


def reproduce(place: Place) -> Outcome:
    """Check the states of one boundary of a sequence, or one of them."""
    return _explore(place)


def shrink(failure: Failure) -> Failure:
    """Leave operations out, then look for a simpler state."""
    return shrink_workload(failure, len(sequence(failure.place.seed)), _explore)


def sequence(number: int) -> list[Operation]:
    """Return the sequence with a number; shorter sequences come first."""
    length = 1
    while number >= len(_ALPHABET) ** length:
        number -= len(_ALPHABET) ** length
        length += 1
    kinds: list[Kind] = []
    for _ in range(length):
        number, index = divmod(number, len(_ALPHABET))
        kinds.append(_ALPHABET[index])
    # The seed does not depend on the sequence, so that equal beginnings go on equally.
    return [Operation(kind, f"exhaustive/{at}") for at, kind in enumerate(reversed(kinds))]


def _explore(place: Place) -> Outcome:
    chooser = sampled(place.seed, _STATES_PER_POINT)
    if place.point is not None:
        chooser = only(place.point, place.state_id, chooser)
    operations = kept_operations(sequence(place.seed), place)
    explorer = Explorer(place.seed, chooser)
    explorer.run(operations, judged_from=max(len(operations) - 1, 0))
    return Outcome(
        done=1, distinct=explorer.distinct, failures=failures_of(NAME, place, explorer.found)
    )
