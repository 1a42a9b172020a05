"""The log directories of a broker, and what they hold.

Source: KIP-113 (DescribeLogDirs, AlterReplicaLogDirs), KIP-827 (sizes of the file system).
"""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response, since

UNKNOWN_BYTES = -1
"""The size of a file system that cannot be asked."""


class MovedLogDirTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic that are to lie in a directory."""

    name: str
    partitions: tuple[Int32, ...]


class AlterReplicaLogDir(Message, frozen=True, kw_only=True):
    """A directory by its absolute path, and the replicas to move there."""

    path: str
    topics: tuple[MovedLogDirTopic, ...]


class AlterReplicaLogDirsRequest(Request, frozen=True, kw_only=True):
    """Move replicas of this broker between its directories; answered when the moves have begun."""

    dirs: tuple[AlterReplicaLogDir, ...]


class AlterReplicaLogDirPartition(Message, frozen=True, kw_only=True):
    """What became of one replica."""

    partition_index: Int32
    error_code: Int16 = 0


class AlterReplicaLogDirTopic(Message, frozen=True, kw_only=True):
    """One topic of the answer."""

    topic_name: str
    partitions: tuple[AlterReplicaLogDirPartition, ...]


class AlterReplicaLogDirsResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    throttle_time_ms: Int32 = 0
    results: tuple[AlterReplicaLogDirTopic, ...] = ()


class DescribableLogDirTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic that are asked about."""

    topic: str
    partitions: tuple[Int32, ...]


class DescribeLogDirsRequest(Request, frozen=True, kw_only=True):
    """Describe the directories with the replicas of these topics; None: of all topics."""

    topics: tuple[DescribableLogDirTopic, ...] | None = None


class DescribeLogDirsPartition(Message, frozen=True, kw_only=True):
    """One replica: bytes of its segments, and how far its log is behind the high watermark."""

    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64 = 0
    is_future_key: bool = False


class DescribeLogDirsTopic(Message, frozen=True, kw_only=True):
    """The replicas of one topic in a directory."""

    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


class DescribeLogDirsResult(Message, frozen=True, kw_only=True):
    """One directory, by its absolute path."""

    error_code: Int16 = 0
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...] = ()
    total_bytes: Annotated[Int64, since(4)] = UNKNOWN_BYTES
    usable_bytes: Annotated[Int64, since(4)] = UNKNOWN_BYTES


class DescribeLogDirsResponse(Response, frozen=True, kw_only=True):
    """The answer; before version 3 a refusal is an answer without directories."""

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(3)] = 0
    results: tuple[DescribeLogDirsResult, ...] = ()
