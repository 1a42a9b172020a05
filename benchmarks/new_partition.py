"""The record of a new partition, for the histories that benchmarks and tests write."""

from records.base import Uuid
from records.partitions import PartitionRecord


def new_partition(
    topic_id: Uuid,
    partition_id: int,
    replicas: tuple[int, ...],
    directories: tuple[Uuid, ...] = (),
) -> PartitionRecord:
    """Return a partition whose replicas are all in sync, led by the first of them."""
    return PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=directories,
    )
