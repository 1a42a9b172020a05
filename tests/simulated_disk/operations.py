"""Random operations of a workload, whatever it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True)
class Operation(Generic[K]):
    """One operation; `seed` determines its details, independently of other operations."""

    kind: K
    seed: str

    def random(self) -> Random:
        """Return a new random generator of the operation's seed."""
        return Random(self.seed)


def random_operations(
    random: Random, weights: Mapping[K, float], seed: int, count: int, first: Sequence[K] = ()
) -> list[Operation[K]]:
    """Return `count` operations of random kinds, after those that are to come first."""
    kinds = random.choices([*weights], [*weights.values()], k=count - len(first))
    return [Operation(kind, f"{seed}/{number}") for number, kind in enumerate([*first, *kinds])]
