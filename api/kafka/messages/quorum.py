"""DescribeQuorum messages: the nodes that replicate the metadata log.

Source: KIP-595, KIP-836 (times), KIP-853 (directories).
"""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response, UInt16, since
from records.base import ZERO_UUID, Uuid


class QuorumPartition(Message, frozen=True, kw_only=True):
    """A partition in a DescribeQuorum request."""

    partition_index: Int32


class QuorumTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic in a DescribeQuorum request."""

    topic_name: str
    partitions: tuple[QuorumPartition, ...]


class DescribeQuorumRequest(Request, frozen=True, kw_only=True):
    """Describe the quorum of the metadata log; no other topic has a quorum."""

    topics: tuple[QuorumTopic, ...]


class QuorumReplica(Message, frozen=True, kw_only=True):
    """A node with a copy of the log, and the end offset of that copy.

    Times are in ms since 1970, -1 if unknown.
    """

    replica_id: Int32
    replica_directory_id: Annotated[Uuid, since(2)] = ZERO_UUID
    log_end_offset: Int64
    last_fetch_timestamp: Annotated[Int64, since(1)] = -1
    last_caught_up_timestamp: Annotated[Int64, since(1)] = -1


class DescribedQuorum(Message, frozen=True, kw_only=True):
    """The quorum of one partition, or an error."""

    partition_index: Int32
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(2)] = None
    leader_id: Int32
    leader_epoch: Int32
    high_watermark: Int64
    current_voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class DescribedQuorumTopic(Message, frozen=True, kw_only=True):
    """The quorums of one topic's partitions."""

    topic_name: str
    partitions: tuple[DescribedQuorum, ...]


class QuorumListener(Message, frozen=True, kw_only=True):
    """Address of a controller's listener."""

    name: str
    host: str
    port: UInt16


class QuorumNode(Message, frozen=True, kw_only=True):
    """A controller and its addresses."""

    node_id: Int32
    listeners: tuple[QuorumListener, ...]


class DescribeQuorumResponse(Response, frozen=True, kw_only=True):
    """The quorums of the requested topics, or an error."""

    error_code: Int16 = 0
    error_message: Annotated[str | None, since(2)] = None
    topics: tuple[DescribedQuorumTopic, ...] = ()
    nodes: Annotated[tuple[QuorumNode, ...], since(2)] = ()
