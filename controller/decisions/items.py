"""Requests of several items: each item is decided independently, so one refusal stops no other."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from controller.decisions.context.context import TooLargeError
from controller.decisions.outcome import Refusal
from controller.results.turns import Turns, whole
from records.errors import RequestError

T = TypeVar("T")
R = TypeVar("R")


ITEMS_IN_TURN = 500
"""Each takes up to 30 us."""


def decide_each(
    items: Iterable[T], decide: Callable[[T], R], refused: Callable[[T, Refusal], R]
) -> tuple[R, ...]:
    """Return the result of each item, in order.

    Args:
        decide: Returns an item's result. It must not add records before its last possible refusal.
        refused: Returns the result of an item for which `decide` raised a RequestError.

    Raises:
        TooLargeError: the request as a whole makes too many records.
    """
    return whole(decide_each_in_turns(items, decide, refused))


def decide_each_in_turns(
    items: Iterable[T], decide: Callable[[T], R], refused: Callable[[T, Refusal], R]
) -> Turns[tuple[R, ...]]:
    """Decide like `decide_each`, ITEMS_IN_TURN of the items in each turn of the event loop."""
    results: list[R] = []
    for item in items:
        if len(results) % ITEMS_IN_TURN == ITEMS_IN_TURN - 1:
            yield
        try:
            result = decide(item)
        except TooLargeError:
            raise
        except RequestError as error:
            result = refused(item, Refusal.of(error))
        results.append(result)
    return tuple(results)
