"""Display order of a report's objects: by kind, then by name in natural order."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

Key = Callable[[int], tuple[int, list[tuple[int, int, str]], int]]
"""Takes an object's number; returns its sort key: kind, sort key of the name, number."""

# Of so many objects one is sought by halving; of more all are counted.
_FEW = 50


class ObjectOrder:
    """The numbers of a report's objects, kept sorted in display order as objects are added.

    Objects are numbered from 0. Different objects with equal names are sorted by number.
    """

    def __init__(self, key: Key) -> None:
        self._key = key
        self._numbers: list[int] = []

    def grow(self, count: int) -> None:
        """Add the objects with numbers up to `count` (exclusive) that are not contained yet."""
        new = range(len(self._numbers), count)
        if len(new) * _FEW > count:
            self._numbers = sorted(range(count), key=self._key)
            return
        for number in new:
            insort(self._numbers, number, key=self._key)

    @property
    def numbers(self) -> list[int]:
        """The numbers of all objects in display order; must not be modified."""
        return self._numbers

    def places(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return, by object number, the place of objects in display order, counted from 0."""
        wanted = set(numbers)
        if len(wanted) * _FEW > len(self._numbers):
            return {number: place for place, number in enumerate(self._numbers)}
        return {n: bisect_left(self._numbers, self._key(n), key=self._key) for n in wanted}
