"""A partition that moves from some brokers to others: whether it does, and where it ends.

Source: KIP-455.
"""

from replay.image.partitions import Partition


def is_moving(partition: Partition) -> bool:
    """Return whether a partition is being reassigned."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def settled_replicas(partition: Partition) -> tuple[int, ...]:
    """Return the replicas that a partition has, or will have when its move is done."""
    removing = partition.removing_replicas
    if not removing:
        return partition.replicas
    return tuple([replica for replica in partition.replicas if replica not in removing])
