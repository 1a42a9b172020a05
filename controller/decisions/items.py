"""Requests of several items: each item is decided independently, so one refusal stops no other."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from controller.decisions.context.context import TooLargeError
from controller.decisions.outcome import Refusal
from records.errors import RequestError

T = TypeVar("T")
R = TypeVar("R")


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
    results = []
    for item in items:
        try:
            result = decide(item)
        except TooLargeError:
            raise
        except RequestError as error:
            result = refused(item, Refusal.of(error))
        results.append(result)
    return tuple(results)
