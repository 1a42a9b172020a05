"""Messages about the log directories of a broker, and the replicas in the directories.

Source: KIP-113 (DescribeLogDirs, AlterReplicaLogDirs), KIP-827 (sizes of the file system).
"""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response, since

UNKNOWN_BYTES = -1
"""Stands for the size of a file system that cannot be determined."""


class MovedLogDirTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic whose replicas are to be moved to a directory."""

    name: str
    partitions: tuple[Int32, ...]


class AlterReplicaLogDir(Message, frozen=True, kw_only=True):
    """A directory's absolute path, and the replicas to move to the directory."""

    path: str
    topics: tuple[MovedLogDirTopic, ...]


class AlterReplicaLogDirsRequest(Request, frozen=True, kw_only=True):
    """Move replicas of a broker to other log directories of the broker.

    The response is sent when the moves have begun.
    """

    dirs: tuple[AlterReplicaLogDir, ...]


class AlterReplicaLogDirPartition(Message, frozen=True, kw_only=True):
    """Result of starting to move one replica."""

    partition_index: Int32
    error_code: Int16 = 0


class AlterReplicaLogDirTopic(Message, frozen=True, kw_only=True):
    """The results of AlterReplicaLogDirs for the replicas of one topic."""

    topic_name: str
    partitions: tuple[AlterReplicaLogDirPartition, ...]


class AlterReplicaLogDirsResponse(Response, frozen=True, kw_only=True):
    """The results of AlterReplicaLogDirs for all topics."""

    throttle_time_ms: Int32 = 0
    results: tuple[AlterReplicaLogDirTopic, ...] = ()


class DescribableLogDirTopic(Message, frozen=True, kw_only=True):
    """The partitions of one topic whose replicas are requested."""

    topic: str
    partitions: tuple[Int32, ...]


class DescribeLogDirsRequest(Request, frozen=True, kw_only=True):
    """Describe the log directories and the replicas of the given topics; null means all topics."""

    topics: tuple[DescribableLogDirTopic, ...] | None = None


class DescribeLogDirsPartition(Message, frozen=True, kw_only=True):
    """One replica: the size of its segments in bytes, and its lag in records."""

    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64 = 0
    is_future_key: bool = False


class DescribeLogDirsTopic(Message, frozen=True, kw_only=True):
    """The replicas of one topic in a directory."""

    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


class DescribeLogDirsResult(Message, frozen=True, kw_only=True):
    """One log directory, given by its absolute path, or an error."""

    error_code: Int16 = 0
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...] = ()
    total_bytes: Annotated[Int64, since(4)] = UNKNOWN_BYTES
    usable_bytes: Annotated[Int64, since(4)] = UNKNOWN_BYTES


class DescribeLogDirsResponse(Response, frozen=True, kw_only=True):
    """The log directories, or an error, which before version 3 is an empty list instead."""

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(3)] = 0
    results: tuple[DescribeLogDirsResult, ...] = ()
