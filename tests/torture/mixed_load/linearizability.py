"""Decides whether a history of concurrent operations on one object is linearizable.

A depth-first search for an order of the operations that keeps the order of those that did not
overlap, and in which each answer is right. It imports none of the code that it checks.

Source: Wing and Gong, "Testing and Verifying Concurrent Objects" (1993); Lowe, "Testing for
linearizability" (2017), for remembering visited states.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

S = TypeVar("S", bound=Hashable)

NEVER = float("inf")
"""When an operation without an answer returned."""


class Operation(msgspec.Struct, Generic[S], frozen=True):
    """An operation that took effect once between two times.

    Attributes:
        step: Returns the state after it; None if its answer is wrong in the state before it.
    """

    name: str
    invoked: float
    returned: float
    step: Callable[[S], S | None]


def problem(initial: S, history: Sequence[Operation[S]]) -> str | None:
    """Return None if a history is linearizable, otherwise the end of the longest order found."""
    operations = sorted(history, key=lambda operation: operation.invoked)
    everything = (1 << len(operations)) - 1
    tried: set[tuple[int, S]] = set()
    best: tuple[int, S] = (0, initial)
    # What was ordered as a set of bits, the state after it, and what to try next.
    path = [(0, initial, _next(operations, 0))]
    while path:
        done, state, candidates = path[-1]
        if done == everything:
            return None
        for number in candidates:
            after = operations[number].step(state)
            reached = done | 1 << number
            if after is not None and (reached, after) not in tried:
                tried.add((reached, after))
                path.append((reached, after, _next(operations, reached)))
                if reached.bit_count() > best[0].bit_count():
                    best = (reached, after)
                break
        else:
            path.pop()
    done, state = best
    names = ", ".join(operations[number].name for number in _next(operations, done))
    return f"after {done.bit_count()} of {len(operations)} at {state}, none can be next: {names}"


def _next(operations: Sequence[Operation[S]], done: int) -> Iterator[int]:
    """Yield the operations that may come next: no other one returned before their call."""
    first = (~done & done + 1).bit_length() - 1
    earliest = NEVER
    for number in range(first, len(operations)):
        if operations[number].invoked > earliest:
            break
        if not done >> number & 1:
            earliest = min(earliest, operations[number].returned)
    for number in range(first, len(operations)):
        if operations[number].invoked > earliest:
            return
        if not done >> number & 1:
            yield number
