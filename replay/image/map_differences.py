"""Differences between two persistent maps that share most of their values."""

from collections.abc import Hashable
from itertools import zip_longest
from typing import TypeVar

from immutables import Map

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def unshared_values(old: Map[K, V], new: Map[K, V]) -> tuple[list[V], list[V]]:
    """Return the values that are only in `old`, and those that are only in `new`: O(values).

    Values are compared by identity. No value may be None, and no object may be in a map twice.

    Maps with the same keys nearly always iterate in the same order, so walking both at once finds
    the shared values without looking up any key. The result does not depend on the order.
    """
    only_old: dict[int, V] = {}
    only_new: dict[int, V] = {}
    for before, after in zip_longest(old.values(), new.values()):
        if before is not after:
            # After an added or removed key a shared value comes later in one map than in the other.
            if before is not None and only_new.pop(id(before), None) is None:
                only_old[id(before)] = before
            if after is not None and only_old.pop(id(after), None) is None:
                only_new[id(after)] = after
    return list(only_old.values()), list(only_new.values())
