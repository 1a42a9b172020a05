"""Faults of a simulated disk while the system runs."""

import errno
import os
from dataclasses import dataclass
from typing import NamedTuple

READS = frozenset({"open", "pread", "size", "list", "exists"})
"""Operations that change nothing: a crash before one is the same as a crash after it."""


class Call(NamedTuple):
    """A call to the disk: operation, path, and for reads and writes the range."""

    operation: str
    path: str
    position: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """Calls that fail: `count` of them, from the number `first` on.

    Attributes:
        first: Number of the call, from 0, among all calls of the given operations.
        count: Number of calls that fail; None for all from then on.
        error: The errno.
        operations: Names of operations; empty for all of them.
        part_of_path: Only calls whose path has this in it are counted.
        written: Number of bytes that a failing write writes before it fails.
    """

    first: int
    count: int | None = 1
    error: int = errno.EIO
    operations: frozenset[str] = frozenset()
    written: int = 0
    part_of_path: str = ""


class Faults:
    """Counts the calls, and decides which of them fail.

    Attributes:
        happened: Number of failed calls, including those for a full disk.
    """

    def __init__(self, *faults: Fault) -> None:
        self._faults = [(fault, [0]) for fault in faults]
        self.happened = 0

    def next(self, operation: str, path: str) -> Fault | None:
        """Count a call of an operation; return the fault that applies to it."""
        hit: Fault | None = None
        for fault, seen in self._faults:
            if fault.operations and operation not in fault.operations:
                continue
            if fault.part_of_path not in path:
                continue
            index = seen[0] - fault.first
            seen[0] += 1
            if index >= 0 and (fault.count is None or index < fault.count):
                hit = fault
        self.happened += hit is not None
        return hit


def failure(error: int, path: str) -> OSError:
    """Return the OSError that the system would raise."""
    return OSError(error, os.strerror(error), path)
