"""What happens to a quorum while it is read, drawn from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.stand_in_quorum import (
    API_VERSIONS,
    FETCH,
    FETCH_SNAPSHOT,
    Answer,
    CloseAfter,
    CutRecords,
    Fault,
    FlipByte,
    Late,
    Overtaken,
    Slow,
    WrongCorrelation,
    WrongLength,
)

RELEASES = ("3.3", "3.6", "3.9", "4.0", "4.1", "4.3")

COUNT = 25

_KINDS = (
    *("append",) * 6,
    *("append_tail",) * 4,
    *("commit",) * 3,
    *("elect",) * 3,
    *("fault",) * 6,
    *("slow_answer",) * 4,
    *("stop",) * 2,
    *("start",) * 2,
    *("snapshot",) * 2,
    "clean",
    "no_leader",
    "upgrade",
    "restart_reader",
)


MAX_WAIT_MS = 5
"""How long a leader may wait for records after a `slow_answer`; else it answers at once."""

_OVERTAKING = ("append", "append_tail", "commit", "elect", "no_leader", "snapshot", "clean")


@dataclass(frozen=True)
class Operation:
    """One thing that happens; the reader asks `steps` times after it.

    Its details are drawn from `number`, so that it stays the same when others are left out.
    """

    kind: str
    number: int
    steps: int


def draw(seed: int, count: int = COUNT) -> list[Operation]:
    """Return the operations of a schedule."""
    random_ = random.Random(seed)
    return [
        Operation(
            random_.choice(_KINDS), random_.randrange(2**30), random_.choice((0, 0, 1, 1, 2, 3))
        )
        for _ in range(count)
    ]


def fault(random_: random.Random) -> tuple[Fault, int | None]:
    """Return a failure of an answer, and of which requests; None: any."""
    cut = random_.choice((0, 1, 3, 4, 7, 8, 9, 20, 60, 100, random_.randrange(400)))
    return random_.choice(
        (
            (CloseAfter(cut), None),
            (CloseAfter(cut), FETCH),
            (CloseAfter(cut), FETCH_SNAPSHOT),
            (WrongCorrelation(random_.choice((-1, 1, 1_000))), None),
            (WrongLength(random_.choice((-1, 0, 3, 2**31 - 1))), None),
            (CutRecords(random_.randrange(1, 80)), FETCH),
            (FlipByte(-random_.randrange(1, 40)), FETCH),
            (Answer(error=random_.choice((6, 74, 75, 8, -1, 3_000)), records=b""), FETCH),
            (Answer(error=6, leader_id=-1, records=b""), FETCH),
            (Answer(error=98, data=b""), FETCH_SNAPSHOT),
        )
    )


def slow_answer(
    random_: random.Random, apply: Callable[[Operation], None]
) -> tuple[Fault, int | None]:
    """Return a delay of an answer, and of which requests; None: any.

    An answer comes after `MAX_WAIT_MS` and in time, byte by byte, or after the reader gave up.
    `apply` lets something happen to the quorum while the answer is under way.
    """
    key = random_.choice((None, API_VERSIONS, FETCH, FETCH, FETCH, FETCH_SNAPSHOT))
    overtaking = Operation(random_.choice(_OVERTAKING), random_.randrange(2**30), 0)
    cut = random_.choice((0, 0, 3, 4, 8, 60, random_.randrange(400)))

    def happen() -> None:
        apply(overtaking)

    delay = random_.choice(
        (
            Slow(random_.choice((0.006, 0.03))),
            Slow(random_.choice((0, 0.0001)), piece=random_.choice((1, 3, 40))),
            Late(cut),
            Late(cut, happen),
            Overtaken(happen),
        )
    )
    return delay, key
