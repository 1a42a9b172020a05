"""The objects of a report in the order in which it shows them: by kind, then by natural name."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

Key = Callable[[int], tuple[int, list[tuple[int, int, str]], int]]
"""Given an object's number, returns its kind, its name's sort key and the number."""

# Of so many objects one is sought by halving; of more all are counted.
_FEW = 50


class ObjectOrder:
    """Numbers of objects in order; new ones are put in their places.

    Numbers are counted from 0. Equal names, of different objects, are in the order of numbers.
    """

    def __init__(self, key: Key) -> None:
        self._key = key
        self._numbers: list[int] = []

    def grow(self, count: int) -> None:
        """Add the numbers up to `count`, exclusive."""
        new = range(len(self._numbers), count)
        if len(new) * _FEW > count:
            self._numbers = sorted(range(count), key=self._key)
            return
        for number in new:
            insort(self._numbers, number, key=self._key)

    @property
    def numbers(self) -> list[int]:
        """The numbers in order; not to be changed."""
        return self._numbers

    def places(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return the place of each of some numbers, counted from 0."""
        wanted = set(numbers)
        if len(wanted) * _FEW > len(self._numbers):
            return {number: place for place, number in enumerate(self._numbers)}
        return {n: bisect_left(self._numbers, self._key(n), key=self._key) for n in wanted}
