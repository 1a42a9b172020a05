"""Where the partitions of a topic are, without the rest of their state."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from replay.image.partitions import Partition


class Placement(msgspec.Struct, frozen=True, gc=False):
    """The partitions of one topic, most of them only as counts.

    A settled partition is led by its first replica, has all replicas in sync, and is not being
    reassigned.

    Attributes:
        held: Number of replicas of settled partitions that a broker has, by broker.
        leaders: The leader of each settled partition, in any order.
        others: The other partitions; some may be settled, too.
    """

    held: Mapping[int, int]
    leaders: Sequence[int]
    others: Sequence[Partition]


def placement_of(partitions: Iterable[Partition]) -> Placement:
    """Return the placement of partitions."""
    settled: list[tuple[int, ...]] = []
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
    held = Counter(chain.from_iterable(settled))
    return Placement(held, [replicas[0] for replicas in settled], others)
