"""What a controller's answers mean for an observer.

| answer | the observer |
|---|---|
| records, or none in time | takes them, and asks for the next |
| DivergingEpoch | cuts off what the leader does not have |
| SnapshotId | reads that snapshot: the records before it are gone |
| another leader, a later epoch | goes there |
| a temporary error | waits, and asks another node |
| no right, another cluster, an invalid request | stops: a retry would not help |

Source: KIP-595, KIP-630.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from api.kafka.errors import CODES, NONE, name_of
from api.kafka.messages.records_io import (
    FetchedPartition,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    SnapshotId,
)
from api.kafka.messages.snapshots import FetchSnapshotResponse, SnapshotChunk, SnapshotEndpoint
from api.kafka.quorum import METADATA_TOPIC, METADATA_TOPIC_ID
from records.errors import RequestError

T = TypeVar("T")

_LEADER_ERRORS = frozenset(
    CODES[name]
    for name in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")
)
_REMEDIES = {
    "CLUSTER_AUTHORIZATION_FAILED": "grant the reader's principal CLUSTER_ACTION on the cluster, "
    "which allows to read the metadata log (and to register brokers, so use a principal that has "
    "no other use)",
    "INCONSISTENT_CLUSTER_ID": "this controller is of another cluster than the one named by "
    "--cluster-id, --brokers or the mirror",
    "UNSUPPORTED_VERSION": "name a controller of Kafka 3.1 or later",
    "INVALID_REQUEST": "the controller's release takes other requests than are known here; report "
    "this",
    "UNKNOWN_TOPIC_ID": "only controllers serve the metadata log, and this is a broker's listener: "
    "name one of controller.listener.names",
}
_REMEDIES["UNKNOWN_TOPIC_OR_PARTITION"] = _REMEDIES["UNKNOWN_TOPIC_ID"]
_COUNT = "the answer has {} partitions of the metadata log instead of one; report this"
_FATAL = frozenset(CODES[name] for name in _REMEDIES)


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """Fetched records, including uncommitted ones; `high_watermark` is -1 if not known yet."""

    records: bytes
    high_watermark: int
    log_start_offset: int


class Diverged(msgspec.Struct, frozen=True):
    """The reader's log diverged: in the leader's log, `leader_epoch` ends at `end_offset`."""

    leader_epoch: int
    end_offset: int


class SnapshotNeeded(msgspec.Struct, frozen=True):
    """The leader no longer has the requested record; names its latest snapshot and log start."""

    snapshot: SnapshotId
    log_start_offset: int


class Chunk(msgspec.Struct, frozen=True):
    """Bytes of a snapshot of `size` bytes, from `position` on."""

    position: int
    size: int
    data: bytes


class SnapshotGone(msgspec.Struct, frozen=True):
    """The leader no longer has the requested snapshot."""


class Elsewhere(msgspec.Struct, frozen=True):
    """The node did not answer the request, but another may; `why` is its reason."""

    why: str


class Leader(msgspec.Struct, frozen=True):
    """The leader that a node names: id (-1: none), epoch, and the address if it is given."""

    node_id: int
    leader_epoch: int
    address: tuple[str, int] | None = None


Answer = Fetched | Diverged | SnapshotNeeded | Chunk | SnapshotGone | Elsewhere


def fetch_answer(response: FetchResponse, node: str) -> tuple[Answer, Leader]:
    """Return what a Fetch response says, and which leader the node names.

    Args:
        node: The node's address, for errors.

    Raises:
        RequestError: a retry would not help; names the node, and what to do.
    """
    _check(response.error_code, node)
    partition = _only(
        [each.partitions for each in response.responses if each.topic_id == METADATA_TOPIC_ID], node
    )
    leader = _leader(partition.current_leader, response.node_endpoints)
    _check(partition.error_code, node)
    if partition.error_code != NONE:
        return Elsewhere(_why(partition.error_code, leader)), leader
    return _answer(partition), leader


def snapshot_answer(response: FetchSnapshotResponse, node: str) -> tuple[Answer, Leader]:
    """Return what a FetchSnapshot response says, and which leader the node names.

    Raises:
        RequestError: as `fetch_answer`.
    """
    _check(response.error_code, node)
    chunk = _only(
        [each.partitions for each in response.topics if each.name == METADATA_TOPIC], node
    )
    leader = _leader(chunk.current_leader, response.node_endpoints)
    return _chunk(chunk, leader, node), leader


def _only(of_topics: list[tuple[T, ...]], node: str) -> T:
    """Return the metadata log's only partition."""
    partitions = [each for some in of_topics for each in some]
    if len(partitions) != 1:
        raise _refused(node, "INVALID_REQUEST", _COUNT.format(len(partitions)))
    return partitions[0]


def _answer(partition: FetchedPartition) -> Answer:
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    if diverging.epoch >= 0 and diverging.end_offset >= 0:
        return Diverged(diverging.epoch, diverging.end_offset)
    if snapshot.end_offset >= 0 and snapshot.epoch >= 0:
        return SnapshotNeeded(snapshot, partition.log_start_offset)
    return Fetched(
        records=partition.records or b"",
        high_watermark=partition.high_watermark,
        log_start_offset=partition.log_start_offset,
    )


def _chunk(chunk: SnapshotChunk, leader: Leader, node: str) -> Answer:
    if name_of(chunk.error_code) in ("SNAPSHOT_NOT_FOUND", "POSITION_OUT_OF_RANGE"):
        return SnapshotGone()
    _check(chunk.error_code, node)
    if chunk.error_code != NONE:
        return Elsewhere(_why(chunk.error_code, leader))
    return Chunk(chunk.position, chunk.size, chunk.unaligned_records)


def _leader(named: LeaderIdAndEpoch, nodes: Iterable[NodeEndpoint | SnapshotEndpoint]) -> Leader:
    addresses = {each.node_id: (each.host, each.port) for each in nodes}
    return Leader(named.leader_id, named.leader_epoch, addresses.get(named.leader_id))


def _why(error_code: int, leader: Leader) -> str:
    if error_code not in _LEADER_ERRORS:
        return name_of(error_code)
    if leader.node_id < 0:
        return f"{name_of(error_code)}, and it knows no leader"
    return f"{name_of(error_code)}: node {leader.node_id} leads in epoch {leader.leader_epoch}"


def _check(error_code: int, node: str) -> None:
    if error_code in _FATAL:
        name = name_of(error_code)
        raise _refused(node, name, f"the answer is {name}; {_REMEDIES[name]}")


def _refused(node: str, code: str, why: str) -> RequestError:
    return RequestError(code, f"{node}: {why}")
