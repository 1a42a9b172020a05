"""Simulation of creating topics of real sizes; counts the leaders and replicas per broker."""

import csv
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from controller.placement.placer import PlacementRng, Placer, UsableBroker

_DRAWN = 2_000
_SEED = 20_261_121
_RACKS = 3


class Shape(msgspec.Struct, frozen=True):
    """Number of partitions and replication factor of a topic."""

    partitions: int
    replication_factor: int


class Spread(msgspec.Struct, frozen=True):
    """Unevenness of counts: largest minus smallest, and standard deviation divided by mean."""

    range: int
    deviation: float

    @classmethod
    def of(cls, counts: Sequence[int]) -> "Spread":
        """Return the spread of counts, one for each broker."""
        deviation = statistics.pstdev(counts) / statistics.mean(counts)
        return cls(max(counts) - min(counts), deviation)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one cluster after all topics; leaders and replicas are counts by broker."""

    brokers: int
    racks: bool
    joining: bool
    placement: str
    leaders: tuple[int, ...]
    replicas: tuple[int, ...]
    seconds: float


def read_shapes(path: Path) -> list[Shape]:
    """Read partitions and replication factors from a CSV table of topics; skip invalid rows."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Shape(int(row["partitions"]), int(row["replication_factor"]))
            for row in csv.DictReader(file)
            if row["partitions"].isdigit()
            and row["replication_factor"].isdigit()
            and int(row["partitions"]) > 0
            and int(row["replication_factor"]) > 0
        ]


def drawn(shapes: Sequence[Shape]) -> list[Shape]:
    """Draw topics with replacement; a fixed seed gives the same topics each time."""
    return Random(_SEED).choices(shapes, k=_DRAWN)


def simulate(
    shapes: Sequence[Shape],
    brokers: int,
    placer: Placer,
    name: str,
    *,
    racks: bool,
    joining: bool,
) -> Outcome:
    """Place all topics one after the other; count the leaders and replicas of each broker."""
    rng = Random(_SEED)
    leaders, replicas = [0] * brokers, [0] * brokers
    start = time.perf_counter()
    for n, shape in enumerate(shapes):
        if joining and n == len(shapes) // 2:
            new = max(1, brokers // 5)
            leaders += [0] * new
            replicas += [0] * new
        for placed in _place(placer, shape, leaders, replicas, racks, rng):
            leaders[placed[0]] += 1
            for broker_id in placed:
                replicas[broker_id] += 1
    return Outcome(
        brokers=brokers,
        racks=racks,
        joining=joining,
        placement=name,
        leaders=tuple(leaders),
        replicas=tuple(replicas),
        seconds=time.perf_counter() - start,
    )


def _place(
    placer: Placer,
    shape: Shape,
    leaders: Sequence[int],
    replicas: Sequence[int],
    racks: bool,
    rng: PlacementRng,
) -> list[tuple[int, ...]]:
    usable = [
        UsableBroker(
            broker_id=n,
            rack=f"rack-{n % _RACKS}" if racks else None,
            leaders=leaders[n],
            replicas=replicas[n],
        )
        for n in range(len(leaders))
    ]
    return placer.place(
        brokers=usable,
        partitions=shape.partitions,
        replication_factor=min(shape.replication_factor, len(usable)),
        start_partition_id=0,
        rng=rng,
    )
