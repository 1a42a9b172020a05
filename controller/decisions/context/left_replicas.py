"""For each broker and topic, the number of partitions that the broker need not leave any more.

A broker that is to leave its partitions does so in steps; each step skips the topics of which no
partition is left to do.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from immutables import Map

from records.base import Uuid
from replay.image.partitions import NO_LEADER, Partition

Growths: TypeAlias = dict[tuple[int, Uuid], int]
"""Changes of the numbers of left partitions, by broker and topic."""

_NO_TOPICS: Map[Uuid, int] = Map()


class LeftReplicas(msgspec.Struct, frozen=True, gc=False):
    """Numbers of left partitions by broker and topic; zeros are not stored."""

    _counts: Map[int, Map[Uuid, int]] = Map()

    def of(self, broker_id: int) -> Mapping[Uuid, int]:
        """Return the number of partitions that a broker has left, by topic."""
        return self._counts.get(broker_id, _NO_TOPICS)

    def grown(self, growths: Growths) -> "LeftReplicas":
        """Return the numbers of left partitions after the given changes."""
        if not growths:
            return self
        counts = self._counts.mutate()
        for (broker_id, topic_id), growth in growths.items():
            topics = counts.get(broker_id, _NO_TOPICS)
            count = topics.get(topic_id, 0) + growth
            if count:
                counts[broker_id] = topics.set(topic_id, count)
            elif growth:
                rest = topics.delete(topic_id)
                if rest:
                    counts[broker_id] = rest
                else:
                    del counts[broker_id]
        return LeftReplicas(counts.finish())


def count_left(growths: Growths, partition: Partition | None, count: int) -> None:
    """Add `count`, for a partition, to the numbers of all brokers that have left it."""
    if partition is None or len(partition.isr) == len(partition.replicas) > 1:
        return
    isr, topic_id = partition.isr, partition.topic_id
    for broker_id in partition.replicas:
        if broker_id not in isr:
            key = broker_id, topic_id
            growths[key] = growths.get(key, 0) + count
    if len(isr) == 1 and partition.leader == NO_LEADER:
        key = isr[0], topic_id
        growths[key] = growths.get(key, 0) + count


def has_left(partition: Partition, broker_id: int) -> bool:
    """True if a broker is not in a partition's ISR, or is the only member but does not lead."""
    isr = partition.isr
    return broker_id not in isr or (len(isr) == 1 and partition.leader == NO_LEADER)
