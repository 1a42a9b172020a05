"""The requests of an observer, for each version that Kafka's controllers take.

An observer has the replica id -1, which a leader ignores in all that it decides: it moves no high
watermark, counts for no vote, and is in no list.

Source: KIP-595, KIP-630, KIP-853, KIP-1166.
"""

import msgspec

from api.kafka.messages.records_io import (
    NO_HIGH_WATERMARK,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    SnapshotId,
)
from api.kafka.messages.snapshots import FetchSnapshotRequest, SnapshotPartition, SnapshotTopic
from api.kafka.quorum import METADATA_TOPIC, METADATA_TOPIC_ID

FETCH_VERSION_MIN = 13
"""The first version with topic ids, which every controller since Kafka 3.1 uses."""

HIGH_WATERMARK_VERSION = 18
"""First version in which a request tells the high watermark that the reader knows."""

MAX_WAIT_MS = 500
"""How long a leader waits for new records; Kafka's own brokers use the same."""

FETCH_BYTES_MAX = 8 * 1024 * 1024
"""Requested size. Up to Kafka 4.2 it is the limit anyway; later leaders send at least one batch."""

SNAPSHOT_CHUNK_BYTES = 1024 * 1024


class Position(msgspec.Struct, frozen=True):
    """Where to read on: the next offset, and the epoch of the record before it.

    `high_watermark` is the last high watermark that a leader named; None before the first answer.
    """

    offset: int = 0
    last_epoch: int = 0
    high_watermark: int | None = None


def fetch_request(
    position: Position,
    *,
    leader_epoch: int,
    version: int,
    cluster_id: str | None,
    max_wait_ms: int = MAX_WAIT_MS,
) -> FetchRequest:
    """Return the request for the records from a position on.

    Args:
        leader_epoch: The latest known leader epoch of the quorum; 0: not known.
        cluster_id: The expected cluster id; None: the node does not compare it.
    """
    known = position.high_watermark
    has_high_watermark = version >= HIGH_WATERMARK_VERSION and known is not None
    partition = FetchPartition(
        partition=0,
        current_leader_epoch=leader_epoch,
        fetch_offset=position.offset,
        last_fetched_epoch=position.last_epoch,
        partition_max_bytes=FETCH_BYTES_MAX,
        high_watermark=known if has_high_watermark and known is not None else NO_HIGH_WATERMARK,
    )
    return FetchRequest(
        cluster_id=cluster_id,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=FETCH_BYTES_MAX,
        topics=(FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),),
    )


def snapshot_request(
    snapshot: SnapshotId, byte: int, *, leader_epoch: int, cluster_id: str | None
) -> FetchSnapshotRequest:
    """Return the request for a chunk of a snapshot, from a byte on."""
    partition = SnapshotPartition(
        partition=0,
        current_leader_epoch=leader_epoch,
        snapshot_id=snapshot,
        position=byte,
    )
    return FetchSnapshotRequest(
        cluster_id=cluster_id,
        max_bytes=SNAPSHOT_CHUNK_BYTES,
        topics=(SnapshotTopic(name=METADATA_TOPIC, partitions=(partition,)),),
    )
