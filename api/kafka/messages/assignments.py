"""AssignReplicasToDirs messages: a broker reports the log directory of each replica.

Source: KIP-858.
"""

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response
from records.base import Uuid


class AssignedPartition(Message, frozen=True, kw_only=True):
    """A partition with a replica in the directory."""

    partition_index: Int32


class AssignedTopic(Message, frozen=True, kw_only=True):
    """A topic's partitions with replicas in the directory."""

    topic_id: Uuid
    partitions: tuple[AssignedPartition, ...]


class AssignedDirectory(Message, frozen=True, kw_only=True):
    """A directory, by id, and the partitions with replicas in it."""

    id: Uuid
    topics: tuple[AssignedTopic, ...]


class AssignReplicasToDirsRequest(Request, frozen=True, kw_only=True):
    """Report the log directories of some replicas of a broker."""

    broker_id: Int32
    broker_epoch: Int64 = -1
    directories: tuple[AssignedDirectory, ...]


class AssignedPartitionResult(Message, frozen=True, kw_only=True):
    """Result of reporting one replica's directory."""

    partition_index: Int32
    error_code: Int16 = 0


class AssignedTopicResult(Message, frozen=True, kw_only=True):
    """The results of AssignReplicasToDirs for the replicas of one topic in a directory."""

    topic_id: Uuid
    partitions: tuple[AssignedPartitionResult, ...]


class AssignedDirectoryResult(Message, frozen=True, kw_only=True):
    """The results of AssignReplicasToDirs for the replicas in one directory."""

    id: Uuid
    topics: tuple[AssignedTopicResult, ...]


class AssignReplicasToDirsResponse(Response, frozen=True, kw_only=True):
    """The results of AssignReplicasToDirs, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    directories: tuple[AssignedDirectoryResult, ...] = ()
