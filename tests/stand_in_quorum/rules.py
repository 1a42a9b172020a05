"""What a node answers to Fetch and FetchSnapshot: a function of its state and of the request.

The checks come in Kafka's order: cluster id, topic and partition, sanity of offset and epoch,
leader and epoch, and then the place in the log.
"""

from dataclasses import dataclass, field

from tests.stand_in_quorum.fetch import (
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    Endpoint,
    FetchAnswer,
    FetchPartition,
    FetchRequest,
)
from tests.stand_in_quorum.fetch_snapshot import FetchSnapshotAnswer, FetchSnapshotRequest
from tests.stand_in_quorum.log import BOOTSTRAP, Log, SnapshotId
from tests.stand_in_quorum.releases import Release

UNKNOWN_SERVER_ERROR = -1
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
BROKER_NOT_AVAILABLE = 8
INVALID_REQUEST = 42
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
SNAPSHOT_NOT_FOUND = 98
POSITION_OUT_OF_RANGE = 99
INCONSISTENT_CLUSTER_ID = 104


@dataclass
class NodeState:
    """A controller: its log, and what it knows about the quorum.

    `leader_id` is -1 if it knows none; `high_watermark` is -1 until something of
    the leader's epoch is committed.
    """

    node_id: int
    release: Release
    cluster_id: str
    log: Log
    epoch: int
    leader_id: int = -1
    high_watermark: int = -1
    is_shutting_down: bool = False
    fetch_size_max: int = 8 * 1024 * 1024
    endpoints: dict[int, Endpoint] = field(default_factory=dict)

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.node_id

    def leader_error(self, epoch: int) -> int:
        """Return the error of a request in `epoch`; 0 if this node leads it."""
        if epoch < self.epoch:
            return FENCED_LEADER_EPOCH
        if epoch > self.epoch:
            return UNKNOWN_LEADER_EPOCH
        if not self.is_leader:
            return NOT_LEADER_OR_FOLLOWER
        return BROKER_NOT_AVAILABLE if self.is_shutting_down else 0

    def leader_endpoints(self) -> tuple[Endpoint, ...]:
        if not self.release.names_endpoints or self.leader_id not in self.endpoints:
            return ()
        return (self.endpoints[self.leader_id],)


def _is_another_cluster(node: NodeState, cluster_id: str | None) -> bool:
    return cluster_id is not None and cluster_id != node.cluster_id


def fetch(node: NodeState, request: FetchRequest) -> FetchAnswer:
    """Answer without waiting."""
    if _is_another_cluster(node, request.cluster_id):
        return FetchAnswer(top_error=INCONSISTENT_CLUSTER_ID)
    partition = _only_partition(node, request)
    if partition is None:
        return FetchAnswer(top_error=INVALID_REQUEST)
    if (
        request.max_wait_ms < 0
        or partition.fetch_offset < 0
        or not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch
    ):
        return fetch_error(node, INVALID_REQUEST)
    if error := node.leader_error(partition.current_leader_epoch):
        return fetch_error(node, error)
    if request.replica_id == node.node_id:
        return fetch_error(node, UNKNOWN_SERVER_ERROR)
    return _from_log(node, request, partition)


def _only_partition(node: NodeState, request: FetchRequest) -> FetchPartition | None:
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return None
    topic = request.topics[0]
    by_name = node.release.fetch[1] <= 12
    is_known = topic.name == METADATA_TOPIC if by_name else topic.topic_id == METADATA_TOPIC_ID
    return topic.partitions[0] if is_known and topic.partitions[0].index == 0 else None


def fetch_error(node: NodeState, error: int) -> FetchAnswer:
    """Return the answer with an error: the leader is named, the high watermark is not."""
    return FetchAnswer(
        error=error,
        leader_id=node.leader_id,
        leader_epoch=node.epoch,
        log_start_offset=node.log.start_offset,
        endpoints=node.leader_endpoints(),
    )


def _from_log(node: NodeState, request: FetchRequest, partition: FetchPartition) -> FetchAnswer:
    diverging, snapshot = place(node, partition.fetch_offset, partition.last_fetched_epoch)
    records = b""
    if diverging is None and snapshot is None:
        size = node.fetch_size_max
        if node.release.honours_max_bytes:
            size = min(size, request.max_bytes)
        records = node.log.read(partition.fetch_offset, size)
    return FetchAnswer(
        leader_id=node.leader_id,
        leader_epoch=node.epoch,
        high_watermark=node.high_watermark,
        log_start_offset=node.log.start_offset,
        diverging=diverging,
        snapshot=snapshot,
        records=records,
        endpoints=node.leader_endpoints(),
    )


def place(
    node: NodeState, offset: int, epoch: int
) -> tuple[tuple[int, int] | None, SnapshotId | None]:
    """Return a diverging epoch with its end, or the snapshot to fetch; neither if it is valid."""
    log = node.log
    snapshots = _served_snapshots(node)
    if offset == 0 and snapshots and node.release.snapshot_at_zero:
        return None, max(snapshots)
    if offset == 0 and log.start_offset == 0:
        return None, None
    if snapshots:
        oldest = min(snapshots)
        is_before_log = offset < log.start_offset or epoch < oldest.epoch
        is_other_start = offset == log.start_offset and epoch != oldest.epoch
        if is_before_log or is_other_start:
            return None, max(snapshots)
    known_epoch, end_offset = log.end_offset_for_epoch(epoch)
    if known_epoch != epoch or end_offset < offset:
        return (known_epoch, end_offset), None
    return None, None


def _served_snapshots(node: NodeState) -> set[SnapshotId]:
    return set(node.log.snapshots) - (set() if node.release.serves_bootstrap else {BOOTSTRAP})


def fetch_snapshot(node: NodeState, request: FetchSnapshotRequest) -> FetchSnapshotAnswer:
    """Answer with a chunk."""
    if _is_another_cluster(node, request.cluster_id):
        return FetchSnapshotAnswer(top_error=INCONSISTENT_CLUSTER_ID)
    if len(request.topics) != 1 or len(request.topics[0][1]) != 1:
        return FetchSnapshotAnswer(top_error=INVALID_REQUEST)
    name, (partition,) = request.topics[0]

    def answer(error: int = 0, size: int = 0, data: bytes = b"") -> FetchSnapshotAnswer:
        return FetchSnapshotAnswer(
            error=error,
            topic=name,
            index=partition.index,
            snapshot=partition.snapshot,
            leader_id=node.leader_id,
            leader_epoch=node.epoch,
            size=size,
            position=partition.position if not error else 0,
            data=data,
            endpoints=node.leader_endpoints(),
        )

    if name != METADATA_TOPIC or partition.index != 0:
        return FetchSnapshotAnswer(
            error=UNKNOWN_TOPIC_OR_PARTITION, topic=name, index=partition.index
        )
    if error := node.leader_error(partition.current_leader_epoch):
        return answer(error)
    if partition.snapshot not in _served_snapshots(node):
        return answer(SNAPSHOT_NOT_FOUND)
    data = node.log.snapshots[partition.snapshot]
    if not 0 <= partition.position < len(data):
        return answer(POSITION_OUT_OF_RANGE)
    end = partition.position + max(0, request.max_bytes)
    return answer(size=len(data), data=data[partition.position : end])
