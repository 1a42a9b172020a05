"""The record of a new partition, for the generated histories of benchmarks and tests."""

from records.base import Uuid
from records.partitions import PartitionRecord


def new_partition(
    topic_id: Uuid,
    partition_id: int,
    replicas: tuple[int, ...],
    directories: tuple[Uuid, ...] = (),
) -> PartitionRecord:
    """Return the record of a partition with all replicas in the ISR and the first one as leader."""
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
