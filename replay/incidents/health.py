"""Health: how many partitions are available, and fully replicated.

All such counts are made here, and `partition_kinds` decides what counts. Only the SQL view and the
Spark audit have their own rules; tests compare them with these.
"""

from collections.abc import Iterable, Sequence

import msgspec

from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, NONE, Partition

LEADERLESS = "leaderless"
UNDER_REPLICATED = "under_replicated"
UNDER_MIN_ISR = "under_min_isr"
FENCED = "fenced"
SHUTTING_DOWN = "shutting_down"

KINDS = (LEADERLESS, UNDER_REPLICATED, UNDER_MIN_ISR, FENCED, SHUTTING_DOWN)


class Health(msgspec.Struct, frozen=True):
    """Numbers of partitions; a partition without a leader may count as under-replicated too."""

    partitions: int = 0
    leaderless: int = 0
    under_replicated: int = 0


def health(partitions: Iterable[Partition]) -> Health:
    """Count partitions, those without a leader, and those that are under-replicated."""
    count = leaderless = under_replicated = 0
    for partition in partitions:
        kinds = partition_kinds(partition, 0)
        count += 1
        leaderless += LEADERLESS in kinds
        under_replicated += UNDER_REPLICATED in kinds
    return Health(count, leaderless, under_replicated)


def health_of(image: MetadataImage) -> Health:
    """Count the partitions of an image, as `health` does: O(partitions)."""
    return health(p for topic in image.topics() for p in image.partitions(topic.topic_id))


def partition_kinds(partition: Partition, min_isr: int) -> Sequence[str]:
    """Return the kinds of outages that a partition is in; none once it is taken offline to be
    removed, which is as planned.
    """
    in_sync = len(partition.isr)
    if partition.leader != NO_LEADER and min_isr <= in_sync:
        if in_sync >= len(partition.replicas):
            return ()
        if not partition.adding_replicas:
            return _ONLY_UNDER_REPLICATED
    if _is_offline(partition):
        return ()
    kinds = []
    if partition.leader == NO_LEADER:
        kinds.append(LEADERLESS)
    if is_under_replicated(partition):
        kinds.append(UNDER_REPLICATED)
    if in_sync < min_isr:
        kinds.append(UNDER_MIN_ISR)
    return kinds


def _is_offline(partition: Partition) -> bool:
    """True if a partition was taken offline to be removed."""
    return partition.mode == NONE and partition.leader == NO_LEADER


def is_under_replicated(partition: Partition) -> bool:
    """True if replicas that are not being added are not in the ISR."""
    return len(partition.isr) < len(_assigned(partition))


_ONLY_UNDER_REPLICATED = (UNDER_REPLICATED,)


def broker_kinds(broker: Broker | None) -> tuple[str, ...]:
    """Return the kinds of outages that a broker is in; none if it is not registered."""
    if broker is None:
        return ()
    held = {FENCED: broker.fenced, SHUTTING_DOWN: broker.in_controlled_shutdown}
    return tuple([kind for kind, holds in held.items() if holds])


def brokers_missing(kind: str, partition: Partition) -> Iterable[int]:
    """Return the brokers that a partition waits for in an outage of a kind."""
    if kind == LEADERLESS:
        return (
            partition.isr
            or partition.eligible_leader_replicas
            or partition.last_known_elr
            or partition.replicas
        )
    return [broker_id for broker_id in _assigned(partition) if broker_id not in partition.isr]


def _assigned(partition: Partition) -> Sequence[int]:
    """Return a partition's replicas without those being added."""
    if not partition.adding_replicas:
        return partition.replicas
    return [each for each in partition.replicas if each not in partition.adding_replicas]
