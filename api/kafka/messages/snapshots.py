"""FetchSnapshot messages: reading a snapshot of the metadata log from its leader, in chunks.

Source: KIP-630; KIP-853 (version 1: directories, the leader's address).
"""

from typing import Annotated

from api.kafka.fields import (
    Int16,
    Int32,
    Int64,
    Message,
    Request,
    Response,
    UInt16,
    tagged,
)
from api.kafka.messages.records_io import NOT_A_REPLICA, LeaderIdAndEpoch, SnapshotId
from records.base import ZERO_UUID, Uuid


class SnapshotPartition(Message, frozen=True, kw_only=True):
    """A partition's snapshot, and the byte from which to read it."""

    partition: Int32
    current_leader_epoch: Int32
    snapshot_id: SnapshotId
    position: Int64
    replica_directory_id: Annotated[Uuid, tagged(0, 1)] = ZERO_UUID


class SnapshotTopic(Message, frozen=True, kw_only=True):
    """Partitions of one topic in a FetchSnapshot request."""

    name: str
    partitions: tuple[SnapshotPartition, ...]


class FetchSnapshotRequest(Request, frozen=True, kw_only=True):
    """Read at most `max_bytes` of a snapshot."""

    cluster_id: Annotated[str | None, tagged(0)] = None
    replica_id: Int32 = NOT_A_REPLICA
    max_bytes: Int32
    topics: tuple[SnapshotTopic, ...]


class SnapshotChunk(Message, frozen=True, kw_only=True):
    """Bytes of a snapshot from `position` on, which may end inside a batch; or an error.

    `size` is that of the whole snapshot.
    """

    index: Int32
    error_code: Int16 = 0
    snapshot_id: SnapshotId = SnapshotId()
    current_leader: Annotated[LeaderIdAndEpoch, tagged(0)] = LeaderIdAndEpoch()
    size: Int64 = 0
    position: Int64 = 0
    unaligned_records: bytes = b""


class SnapshotChunks(Message, frozen=True, kw_only=True):
    """The chunks of one topic's partitions."""

    name: str
    partitions: tuple[SnapshotChunk, ...]


class SnapshotEndpoint(Message, frozen=True, kw_only=True):
    """The address of a node that a response names as leader."""

    node_id: Int32
    host: str
    port: UInt16


class FetchSnapshotResponse(Response, frozen=True, kw_only=True):
    """The chunks of all topics, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: tuple[SnapshotChunks, ...] = ()
    node_endpoints: Annotated[tuple[SnapshotEndpoint, ...], tagged(0, 1)] = ()
