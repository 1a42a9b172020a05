"""The interface of placements."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from controller.results.refusals import invalid_partitions, invalid_replication_factor


class UsableBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A registered broker that is not shutting down, and its load before the placement.

    `leaders` is the number of partitions of which the broker is the preferred leader; `replicas` is
    the number of all its replicas, including those as preferred leader.
    """

    broker_id: int
    rack: str | None = None
    fenced: bool = False
    leaders: int = 0
    replicas: int = 0


class PlacementRng(Protocol):
    """Interface of the random number source for a placement, such as `random.Random`."""

    def randrange(self, stop: int, /) -> int:
        """Return a number in [0, stop)."""
        ...

    def shuffle(self, items: Any, /) -> None:
        """Shuffle a list in place."""
        ...


class PlacementRun(Protocol):
    """Chooses the replicas of new partitions for one request, topic by topic."""

    def place(
        self, partitions: int, replication_factor: int, start_partition_id: int
    ) -> list[tuple[int, ...]]:
        """Return the replicas of each new partition, as `Placer.place`, and count them as load."""
        ...

    def count(self, replicas: Sequence[int]) -> None:
        """Count, as load, a manually assigned partition of the same request."""
        ...


class Placer(Protocol):
    """Chooses the replicas of new partitions."""

    def start(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> PlacementRun:
        """Return a placement run for one request, which may create several topics."""
        ...

    def place(
        self,
        *,
        brokers: Sequence[UsableBroker],
        partitions: int,
        replication_factor: int,
        start_partition_id: int,
        rng: PlacementRng,
    ) -> list[tuple[int, ...]]:
        """Return the replicas of each new partition, the preferred leader first.

        Args:
            brokers: The usable brokers, in any order.
            partitions: Number of new partitions.
            start_partition_id: Id of the first new partition; above 0 if a topic grows.

        Raises:
            RequestError: INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR, if no placement can
                satisfy the request.
        """
        ...


class IndependentRun:
    """A run that places each topic independently of the others in the request."""

    def __init__(self, placer: Placer, brokers: Sequence[UsableBroker], rng: PlacementRng) -> None:
        self._placer = placer
        self._brokers = brokers
        self._rng = rng

    def place(
        self, partitions: int, replication_factor: int, start_partition_id: int
    ) -> list[tuple[int, ...]]:
        """Return the replicas of each new partition, as `PlacementRun.place`."""
        return self._placer.place(
            brokers=self._brokers,
            partitions=partitions,
            replication_factor=replication_factor,
            start_partition_id=start_partition_id,
            rng=self._rng,
        )

    def count(self, replicas: Sequence[int]) -> None:
        """Do nothing, as other partitions do not affect the placement."""


def check_counts(partitions: int, replication_factor: int, broker_count: int) -> None:
    """Refuse impossible counts.

    Raises:
        RequestError: INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR.
    """
    if partitions <= 0:
        raise invalid_partitions(f"the number of partitions must be above 0, not {partitions}")
    if replication_factor <= 0:
        raise invalid_replication_factor(
            f"the number of replicas must be above 0, not {replication_factor}"
        )
    if replication_factor > broker_count:
        raise invalid_replication_factor(
            f"{replication_factor} replicas need as many brokers; {broker_count} can be used"
        )
