"""Health: how many partitions are available, and fully replicated.

Every count of such partitions is made here, and what counts is decided by `partition_kinds`. Only
SQL's view and Spark's audit decide for themselves; tests compare them.
"""

from collections.abc import Iterable

import msgspec

from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.incidents.outage import LEADERLESS, UNDER_REPLICATED, partition_kinds


class Health(msgspec.Struct, frozen=True):
    """Numbers of partitions; one without a leader may also be under-replicated."""

    partitions: int = 0
    leaderless: int = 0
    under_replicated: int = 0


def health(partitions: Iterable[Partition]) -> Health:
    """Return the numbers of partitions."""
    count = leaderless = under_replicated = 0
    for partition in partitions:
        kinds = partition_kinds(partition, 0)
        count += 1
        leaderless += LEADERLESS in kinds
        under_replicated += UNDER_REPLICATED in kinds
    return Health(count, leaderless, under_replicated)


def health_of(image: MetadataImage) -> Health:
    """Return the numbers of partitions of an image, in O(partitions) time."""
    return health(p for topic in image.topics() for p in image.partitions(topic.topic_id))
