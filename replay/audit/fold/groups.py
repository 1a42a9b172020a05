"""Groups rows that have the same keys, and aggregates their values by operations on columns."""

from typing import Any, NamedTuple

import numpy


class Groups(NamedTuple):
    """The indices of the first and the last row of each group."""

    first: Any
    last: Any

    @classmethod
    def of(cls, *keys: Any) -> "Groups":
        """Return the groups of rows with equal keys; rows are sorted by key, and keys are >= -1."""
        is_first = numpy.any([numpy.diff(key, prepend=-2) != 0 for key in keys], axis=0)
        (first,) = numpy.nonzero(is_first)
        return cls(first, numpy.append(first[1:], len(is_first))[: len(first)] - 1)

    def sizes(self) -> Any:
        """Return the number of rows of each group."""
        return self.last - self.first + 1

    def sums(self, values: Any) -> Any:
        """Return the sum of each group's values; true counts as 1."""
        return self._reduced(numpy.add, values.astype(numpy.int64))

    def least(self, values: Any) -> Any:
        """Return the minimum of each group's values."""
        return self._reduced(numpy.minimum, values)

    def greatest(self, values: Any) -> Any:
        """Return the maximum of each group's values."""
        return self._reduced(numpy.maximum, values)

    def _reduced(self, function: Any, values: Any) -> Any:
        return function.reduceat(values, self.first) if len(self.first) else values[:0]
