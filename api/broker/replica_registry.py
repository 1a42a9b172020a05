"""Index of a broker's replicas by name and by topic id. It is changed only on the event loop."""

from collections.abc import Iterator, Sequence

from api.broker.log_directory import LogDirectory
from api.broker.partition_metadata import PartitionMetadata
from api.broker.replica import Replica
from records.base import ZERO_UUID, Uuid

Name = tuple[str, int]
"""A partition: the full name of its topic, and its number."""


class ReplicaRegistry:
    """A broker's replicas by name and, if their topic id is known, also by topic id."""

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        """Create a registry without replicas."""
        self._by_name: dict[Name, Replica] = {}
        self._by_topic: dict[Uuid, dict[int, Replica]] = {}
        self._counts = {directory.path: 0 for directory in directories}
        self._directories = directories

    def __iter__(self) -> Iterator[Replica]:
        """Iterate over a copy of the current replicas."""
        return iter(list(self._by_name.values()))

    def __contains__(self, name: Name) -> bool:
        """True if there is a replica with this name."""
        return name in self._by_name

    def get(self, name: Name) -> Replica | None:
        """Return the replica with this name; None if there is none."""
        return self._by_name.get(name)

    def of(self, topic_id: Uuid, partition: int) -> Replica | None:
        """Return the replica with this topic id and partition, under any name; else None."""
        return self._by_topic.get(topic_id, {}).get(partition)

    def add(self, replica: Replica) -> None:
        """Add a replica under the name in its metadata."""
        name = name_of(replica)
        assert name not in self._by_name, "two replicas cannot have one name"
        self._by_name[name] = replica
        self._counts[replica.directory.path] += 1
        metadata = replica.metadata
        if metadata.topic_id != ZERO_UUID:
            self._by_topic.setdefault(metadata.topic_id, {})[metadata.partition] = replica

    def remove(self, replica: Replica) -> None:
        """Remove a replica."""
        del self._by_name[name_of(replica)]
        self._counts[replica.directory.path] -= 1
        metadata = replica.metadata
        partitions = self._by_topic.get(metadata.topic_id, {})
        if partitions.get(metadata.partition) is replica:
            del partitions[metadata.partition]
            if not partitions:
                del self._by_topic[metadata.topic_id]

    def describe(self, replica: Replica, metadata: PartitionMetadata) -> None:
        """Replace a replica's metadata, such as its topic name or id."""
        self.remove(replica)
        replica.metadata = metadata
        self.add(replica)

    def relocate(self, replica: Replica, directory: LogDirectory) -> None:
        """Record that a replica is now in another directory."""
        self._counts[replica.directory.path] -= 1
        self._counts[directory.path] += 1
        replica.directory = directory

    def reserve_directory(self) -> LogDirectory:
        """Choose the directory with the fewest replicas for a new one, and count it there."""
        directory = min(self._directories, key=lambda one: self._counts[one.path])
        self._counts[directory.path] += 1
        return directory

    def release_directory(self, directory: LogDirectory) -> None:
        """Stop counting a replica of `reserve_directory`: it was added, or could not be created."""
        self._counts[directory.path] -= 1


def name_of(replica: Replica) -> Name:
    """Return a replica's topic name and partition id."""
    return replica.metadata.name, replica.metadata.partition
