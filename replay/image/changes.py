"""Changes collected over persistent maps, applied once when the batch is complete.

A delta may see the same key thousands of times before it is applied, so it keeps the newest value
of each changed key in a plain dict and copies the affected branches of the persistent map once.
"""

from collections.abc import Hashable, Iterator, KeysView
from typing import Any, Generic, TypeVar

from immutables import Map

K = TypeVar("K", bound=Hashable)
J = TypeVar("J", bound=Hashable)
V = TypeVar("V")

_EMPTY: Map[Any, Any] = Map()  # making one for each lookup costs more than the lookup


class MapDelta(Generic[K, V]):
    """Changes to a persistent map. Values are never None."""

    __slots__ = ("_base", "_changes")

    def __init__(self, base: Map[K, V]) -> None:
        self._base = base
        # The newest value of each changed key; None if it was removed.
        self._changes: dict[K, V | None] = {}

    @property
    def changed(self) -> KeysView[K]:
        """The keys that were set or removed."""
        return self._changes.keys()

    def get(self, key: K) -> V | None:
        """Return the newest value of a key, None if the key is not set."""
        changes = self._changes
        return changes[key] if key in changes else self._base.get(key)

    def put(self, key: K, value: V) -> None:
        """Set a key."""
        self._changes[key] = value

    def take(self, key: K) -> V | None:
        """Remove a key; return its previous value, None if it was not set."""
        value = self.get(key)
        self._changes[key] = None
        return value

    def items(self) -> Iterator[tuple[K, V]]:
        """Iterate over the keys and their newest values, in any order."""
        for key, value in self._base.items():
            if key not in self._changes:
                yield key, value
        for key, changed in self._changes.items():
            if changed is not None:
                yield key, changed

    def is_empty(self) -> bool:
        """True if the map with the changes has no keys."""
        return next(self.items(), None) is None

    def apply(self) -> Map[K, V]:
        """Return the map with the changes applied; the same object if nothing changed."""
        if not self._changes:
            return self._base
        new = self._base.mutate()
        for key, value in self._changes.items():
            if value is None:
                new.pop(key, None)
            else:
                new[key] = value
        return new.finish()


class NestedMapDelta(Generic[K, J, V]):
    """Changes to a persistent map of persistent maps. No inner map is ever empty."""

    def __init__(self, base: Map[K, Map[J, V]]) -> None:
        self._base = base
        self._inner: dict[K, MapDelta[J, V]] = {}

    @property
    def changed(self) -> list[tuple[K, J]]:
        """The pairs of outer and inner key that were set or removed."""
        return [(key, each) for key, inner in self._inner.items() for each in inner.changed]

    @property
    def has_been_read(self) -> bool:
        """True if any inner map was read or changed."""
        return bool(self._inner)

    def at(self, key: K) -> MapDelta[J, V]:
        """Return the delta of the inner map under one outer key."""
        inner = self._inner.get(key)
        if inner is None:
            inner = self._inner[key] = MapDelta(self._base.get(key, _EMPTY))
        return inner

    def take(self, key: K) -> dict[J, V]:
        """Remove the inner map under one outer key; return its previous content."""
        if key not in self._base and key not in self._inner:
            return {}
        inner = self.at(key)
        taken = dict(inner.items())
        for inner_key in taken:
            inner.take(inner_key)
        return taken

    def apply(self) -> Map[K, Map[J, V]]:
        """Return the map with the changes applied; the same object if nothing changed."""
        changed = [(key, inner) for key, inner in self._inner.items() if inner._changes]
        if not changed:
            return self._base
        new = self._base.mutate()
        for key, inner in changed:
            values = inner.apply()
            if values:
                new[key] = values
            else:
                new.pop(key, None)
        return new.finish()

    def settle(self) -> None:
        """Apply the changes made so far, so that `apply` takes less time later."""
        self._base, self._inner = self.apply(), {}


class ValueDelta(Generic[V]):
    """A change of a single value."""

    def __init__(self, base: V) -> None:
        self._value = base

    def get(self) -> V:
        """Return the newest value."""
        return self._value

    def put(self, value: V) -> None:
        """Set the value."""
        self._value = value

    def apply(self) -> V:
        """Return the newest value."""
        return self._value
