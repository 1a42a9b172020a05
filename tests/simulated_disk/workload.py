"""The operations on a log, generated from a seed.

Each operation has its own seed, so that leaving others out does not change it.
"""

from enum import StrEnum
from random import Random

from tests.simulated_disk import operations


class Kind(StrEnum):
    """The kinds of operations."""

    APPEND = "append"  # one caller, one batch
    GATHER = "gather"  # several callers at once
    EXPECTED = "expected"  # with the right expected end offset
    MISTAKEN = "mistaken"  # with a wrong one
    CANCEL = "cancel"  # one of several callers goes away
    REPEAT = "repeat"  # a request comes again, whatever became of it
    OVERSIZE = "oversize"  # refused for its size, between two that are not
    FILL = "fill"  # as many bytes as a segment has
    READ = "read"  # a reader opens, at an I/O boundary of the next operation
    READ_LATER = "read-later"  # a reader that was opened earlier reads now
    WAIT = "wait"  # time passes; the mark is synced
    REOPEN = "reopen"  # a clean stop and start
    KILL = "kill"  # the process dies at an I/O boundary, and another starts
    POWER_LOSS = "power-loss"  # the machine dies at an I/O boundary, and starts again
    TAKEOVER = "takeover"  # another writer, at an I/O boundary; the first does not notice


Operation = operations.Operation[Kind]

_WEIGHTS = {
    Kind.APPEND: 6,
    Kind.GATHER: 4,
    Kind.EXPECTED: 1,
    Kind.MISTAKEN: 1,
    Kind.CANCEL: 2,
    Kind.REPEAT: 2,
    Kind.OVERSIZE: 0.1,
    Kind.FILL: 2,
    Kind.READ: 3,
    Kind.READ_LATER: 1,
    Kind.WAIT: 2,
    Kind.REOPEN: 1,
    Kind.KILL: 1,
    Kind.POWER_LOSS: 1,
    Kind.TAKEOVER: 2,
}


def make_workload(seed: int, count: int) -> list[Operation]:
    """Return `count` operations."""
    return operations.random_operations(Random(f"workload/{seed}"), _WEIGHTS, seed, count)
