"""A client whose messages are encoded and decoded by kafka-python, not by the stand-in."""

import socket
import struct
import uuid
import warnings
from typing import Any

from tests.stand_in_quorum.log import SnapshotId

with warnings.catch_warnings():
    # It reads its schemas in a way that Python calls deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.admin import DescribeQuorumRequest
    from kafka.protocol.consumer import FetchRequest
    from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest

__all__ = [
    "ApiVersionsRequest",
    "DescribeQuorumRequest",
    "MetadataRequest",
    "ask",
    "diverging",
    "exchange",
    "fetch",
    "partition",
    "snapshot_of",
]

METADATA_TOPIC_ID = uuid.UUID(int=1)


def exchange(address: str, frame: bytes) -> bytes:
    """Send a frame and return the one that answers it, both with their length."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(frame)
        size = _receive(connection, 4)
        return size + _receive(connection, *struct.unpack(">i", size))


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError(f"{len(data)} of {size} bytes")
        data += more
    return data


def ask(address: str, request: Any, correlation_id: int = 7) -> Any:
    """Return the answer as kafka-python decodes it; it would encode it to the same bytes."""
    request.with_header(correlation_id, "peer")
    frame = exchange(address, bytes(request.encode(header=True, framed=True)))
    answered = request.header.get_response_class()
    answer = answered.decode(frame, header=True, framed=True)
    assert answer.header.correlation_id == correlation_id
    # A header that is decoded may be longer than its encoding, so the message alone is compared.
    flexible = request.flexible_version_q(request.API_VERSION)
    is_tagged = flexible and answered.API_KEY != ApiVersionsResponse.API_KEY
    message = bytes(answer.encode())
    assert frame[8 + is_tagged :] == message
    return answer


def fetch(
    version: int,
    *,
    epoch: int = 0,
    offset: int = 0,
    last_epoch: int = 0,
    high_watermark: int | None = None,
    max_wait_ms: int = 0,
    max_bytes: int = 2**31 - 1,
    cluster_id: str | None = None,
    topic_id: uuid.UUID = METADATA_TOPIC_ID,
    partition: int = 0,
    replica_id: int = -1,
) -> Any:
    """Return a request to Fetch the metadata log."""
    topic = FetchRequest.FetchTopic
    place = topic.FetchPartition(
        partition=partition,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        log_start_offset=-1,
        partition_max_bytes=2**31 - 1,
        **({} if high_watermark is None else {"high_watermark": high_watermark}),
    )
    request = FetchRequest[version](
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[topic(topic="__cluster_metadata", topic_id=topic_id, partitions=[place])],
        forgotten_topics_data=[],
        rack_id="",
    )
    if cluster_id is not None:
        request.cluster_id = cluster_id
    if version >= 15 and replica_id != -1:
        request.replica_state = FetchRequest.ReplicaState(replica_id=replica_id, replica_epoch=-1)
    return request


def partition(answer: Any) -> Any:
    """Return the only partition of an answer to Fetch."""
    (topic,) = answer.responses
    (found,) = topic.partitions
    return found


def diverging(answer: Any) -> tuple[int, int] | None:
    """Return the diverging epoch of an answer and its end offset; None if it has none."""
    found = partition(answer).diverging_epoch
    return found and (found.epoch, found.end_offset)


def snapshot_of(answer: Any) -> SnapshotId | None:
    """Return the snapshot that an answer sends to; None if it sends to none."""
    found = partition(answer).snapshot_id
    return found and SnapshotId(found.end_offset, found.epoch)
