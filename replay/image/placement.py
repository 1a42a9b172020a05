"""Where the partitions of a topic are, without the rest of their state."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from replay.image.partitions import Partition

Replicas: TypeAlias = tuple[int, ...]


class Placement(msgspec.Struct, frozen=True, gc=False):
    """The partitions of one topic, most of them only as their replicas.

    Attributes:
        settled: Replicas of partitions that are led by their first replica, have all replicas in
            sync, and are not being reassigned: one element a partition, in no particular order.
        others: The other partitions; some may be settled, too.
    """

    settled: Sequence[Replicas]
    others: Sequence[Partition]


def placement_of(partitions: Iterable[Partition]) -> Placement:
    """Return the placement of partitions."""
    settled: list[Replicas] = []
    others: list[Partition] = []
    for partition in partitions:
        replicas = partition.replicas
        if (
            replicas
            and partition.leader == replicas[0]
            and len(partition.isr) == len(replicas)
            and not partition.adding_replicas
            and not partition.removing_replicas
        ):
            settled.append(replicas)
        else:
            others.append(partition)
    return Placement(settled, others)
