"""Equal values of a snapshot's partitions, kept once.

A decoder makes new values for each partition: replicas, ISR, and the ids of directories. They take
two thirds of its memory, and few of them differ.
"""

from typing import TypeAlias, TypeVar

from records.base import Uuid

V = TypeVar("V", bound=tuple[object, ...])

_Replicas: TypeAlias = tuple[tuple[int, ...], tuple[Uuid, ...]]


class SharedValues:
    """The values seen so far: one object of each."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[object, ...]] = {}
        # Replicas, each with the directories that they were seen with first: most often the same.
        self._replicas: dict[tuple[int, ...], _Replicas] = {}

    def replicas(self, replicas: tuple[int, ...], directories: tuple[Uuid, ...]) -> _Replicas:
        """Return the objects of a partition's replicas and of their directories."""
        found = self._replicas.setdefault(replicas, (replicas, directories))
        if found[1] == directories:
            return found
        return found[0], self.value(directories)

    def value(self, value: V) -> V:
        """Return the object of another value."""
        return self._known.setdefault(value, value)  # type: ignore[return-value]
