"""Equal values of a snapshot's partitions, kept once.

A decoder makes new values for each partition: topic id, replicas, ISR, and the ids of directories.
They take two thirds of its memory, and few of them differ.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import force_setattr

from records.base import Uuid
from replay.image.partitions import Partition


class SharedValues:
    """The values seen so far: one object of each."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        # Replicas, each with the directories that they were seen with first: most often the same.
        self._replicas: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[Uuid, ...]]] = {}

    def share(self, topic_id: Uuid, partitions: Iterable[Partition]) -> None:
        """Give a topic's partitions the objects of equal values.

        Args:
            partitions: Just decoded: nothing else refers to them yet, so they may be changed.
        """
        put, known, seen = force_setattr, self._known, self._replicas
        for partition in partitions:
            directories, isr = partition.directories, partition.isr
            replicas, held = seen.setdefault(partition.replicas, (partition.replicas, directories))
            put(partition, "topic_id", topic_id)
            put(partition, "replicas", replicas)
            put(partition, "isr", replicas if isr == replicas else known.setdefault(isr, isr))
            if directories != held:
                held = known.setdefault(directories, directories)
            put(partition, "directories", held)
