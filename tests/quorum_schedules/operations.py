"""What happens to a quorum while it is read, drawn from a seed."""

import random
from dataclasses import dataclass

from tests.stand_in_quorum import (
    FETCH,
    FETCH_SNAPSHOT,
    Answer,
    CloseAfter,
    CutRecords,
    Fault,
    FlipByte,
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
    *("stop",) * 2,
    *("start",) * 2,
    *("snapshot",) * 2,
    "clean",
    "no_leader",
    "upgrade",
    "restart_reader",
)


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
