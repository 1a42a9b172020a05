"""FetchSnapshot of the stand-in, in bytes: kafka-python does not know it."""

import struct
from pathlib import Path

import pytest

from tests.stand_in_quorum import Quorum, SnapshotId, rules
from tests.stand_in_quorum.peer import exchange

SNAPSHOT = SnapshotId(6, 1)

_LEADER = b"\1\0\x09" + struct.pack(">ii", 1, 3) + b"\0"  # one tag, 0, of 9 bytes


def request(
    version: int,
    *,
    epoch: int = 3,
    snapshot: SnapshotId = SNAPSHOT,
    position: int = 0,
    max_bytes: int = 1024,
    topic: bytes = b"__cluster_metadata",
    cluster_id: bytes = b"",
) -> bytes:
    """Return the frame of a request, written byte by byte."""
    header = struct.pack(">hhi", 59, version, 9) + struct.pack(">h", 4) + b"peer" + b"\0"
    body = struct.pack(">ii", -1, max_bytes)
    body += b"\2" + bytes([len(topic) + 1]) + topic
    body += b"\2" + struct.pack(">ii", 0, epoch)
    body += struct.pack(">qi", snapshot.end_offset, snapshot.epoch) + b"\0"
    body += struct.pack(">q", position) + b"\0"
    body += b"\0"  # tags of the topic
    tagged = bytes([len(cluster_id) + 1]) + cluster_id
    body += b"\1\0" + bytes([len(tagged)]) + tagged if cluster_id else b"\0"
    frame = header + body
    return struct.pack(">i", len(frame)) + frame


def answer(error: int, size: int, position: int, data: bytes, *, leader: bytes = _LEADER) -> bytes:
    """Return what is answered between the header and the tags of the message."""
    name = b"__cluster_metadata"
    body = struct.pack(">ih", 0, 0) + b"\2" + bytes([len(name) + 1]) + name
    body += b"\2" + struct.pack(">ih", 0, error)
    body += struct.pack(">qi", SNAPSHOT.end_offset, SNAPSHOT.epoch) + b"\0"
    body += struct.pack(">qq", size, position) + bytes([len(data) + 1]) + data
    return body + leader + b"\0"  # tags of the topic


def _header() -> bytes:
    return struct.pack(">i", 9) + b"\0"


@pytest.mark.parametrize("position", [0, 1, 150, 199])
def test_chunk_is_cut_anywhere(with_snapshot: Path, position: int) -> None:
    with Quorum(with_snapshot, release="3.8") as quorum:
        frame = exchange(quorum.bootstrap, request(0, position=position, max_bytes=50))
    chunk = bytes(range(200))[position : position + 50]
    assert frame[4:] == _header() + answer(0, 200, position, chunk) + b"\0"


def test_version_1_names_the_endpoint_of_the_leader(with_snapshot: Path) -> None:
    with Quorum(with_snapshot, release="3.9") as quorum:
        frame = exchange(quorum.bootstrap, request(1, max_bytes=10))
        port = int(quorum.bootstrap.rsplit(":", 1)[1])
    endpoint = struct.pack(">i", 1) + b"\x0a127.0.0.1" + struct.pack(">H", port) + b"\0"
    tags = b"\1\0" + bytes([len(endpoint) + 1]) + b"\2" + endpoint
    assert frame[4:] == _header() + answer(0, 200, 0, bytes(range(10))) + tags


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"snapshot": SnapshotId(6, 2)}, rules.SNAPSHOT_NOT_FOUND),
        ({"position": -1}, rules.POSITION_OUT_OF_RANGE),
        ({"position": 200}, rules.POSITION_OUT_OF_RANGE),
        ({"epoch": 2}, rules.FENCED_LEADER_EPOCH),
        ({"epoch": 4}, rules.UNKNOWN_LEADER_EPOCH),
        ({"topic": b"__cluster_metadatb"}, rules.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_errors(with_snapshot: Path, asked: dict[str, object], error: int) -> None:
    with Quorum(with_snapshot, release="3.8") as quorum:
        frame = exchange(quorum.bootstrap, request(0, **asked))  # type: ignore[arg-type]
    at = len(frame[:4] + _header()) + struct.calcsize(">ih") + 1 + 1 + 18 + 1 + 4
    assert struct.unpack_from(">h", frame, at) == (error,)


def test_other_cluster_is_refused_above_all(with_snapshot: Path) -> None:
    with Quorum(with_snapshot, release="3.8") as quorum:
        frame = exchange(quorum.bootstrap, request(0, cluster_id=b"other"))
    refused = struct.pack(">ih", 0, rules.INCONSISTENT_CLUSTER_ID) + b"\1\0"
    assert frame[4:] == _header() + refused


def test_deleted_snapshot_is_not_found(with_snapshot: Path) -> None:
    with Quorum(with_snapshot, release="3.8") as quorum:
        exchange(quorum.bootstrap, request(0, max_bytes=10))
        quorum.delete_snapshot(SNAPSHOT)
        frame = exchange(quorum.bootstrap, request(0, position=10))
    assert frame[4:] == _header() + answer(rules.SNAPSHOT_NOT_FOUND, 0, 0, b"") + b"\0"
