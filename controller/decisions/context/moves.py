"""Reassignment state of a partition.

Source: KIP-455.
"""

from replay.image.partitions import Partition


def is_moving(partition: Partition) -> bool:
    """True if a partition is being reassigned."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def settled_replicas(partition: Partition) -> tuple[int, ...]:
    """Return the partition's replicas; while it is being reassigned, its target replicas."""
    removing = partition.removing_replicas
    if not removing:
        return partition.replicas
    return tuple([replica for replica in partition.replicas if replica not in removing])
