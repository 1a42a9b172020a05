"""FetchSnapshot, versions 0 and 1: a snapshot in chunks, cut anywhere."""

from dataclasses import dataclass, field

from tests.stand_in_quorum.fetch import METADATA_TOPIC, NO_DIRECTORY, Endpoint, optional_text
from tests.stand_in_quorum.frames import Header, writer
from tests.stand_in_quorum.log import BOOTSTRAP, SnapshotId
from tests.stand_in_quorum.wire import Reader, Writer


@dataclass(frozen=True)
class SnapshotPartition:
    """Which chunk a request wants; its size is the request's MaxBytes."""

    index: int
    current_leader_epoch: int
    snapshot: SnapshotId
    position: int
    directory_id: bytes


@dataclass(frozen=True)
class FetchSnapshotRequest:
    """A request to FetchSnapshot."""

    cluster_id: str | None
    replica_id: int
    max_bytes: int
    topics: tuple[tuple[str, tuple[SnapshotPartition, ...]], ...]


def read_fetch_snapshot(header: Header, reader: Reader) -> FetchSnapshotRequest:
    """Decode a request.

    Raises:
        MalformedError: It has not the layout of its version.
    """
    replica_id, max_bytes = reader.int32(), reader.int32()

    def topic() -> tuple[str, tuple[SnapshotPartition, ...]]:
        name = reader.text()
        partitions = tuple(reader.items(lambda: _read_partition(header.version, reader)))
        reader.tags()
        return name, partitions

    topics = tuple(reader.items(topic))
    tags = reader.tags()
    reader.end()
    return FetchSnapshotRequest(optional_text(tags, 0), replica_id, max_bytes, topics)


def _read_partition(version: int, reader: Reader) -> SnapshotPartition:
    index, leader_epoch = reader.int32(), reader.int32()
    snapshot = SnapshotId(reader.int64(), reader.int32())
    reader.tags()
    position = reader.int64()
    tags = reader.tags()
    directory = NO_DIRECTORY
    if version >= 1 and 0 in tags:
        directory = Reader(tags[0], is_flexible=True).uuid()
    return SnapshotPartition(index, leader_epoch, snapshot, position, directory)


@dataclass(frozen=True)
class FetchSnapshotAnswer:
    """A chunk of a snapshot, or an error; with `top_error` it has no partition at all."""

    top_error: int = 0
    error: int = 0
    topic: str = METADATA_TOPIC
    index: int = 0
    snapshot: SnapshotId = BOOTSTRAP
    leader_id: int = -1
    leader_epoch: int = -1
    size: int = 0
    position: int = 0
    data: bytes = field(default=b"", repr=False)
    endpoints: tuple[Endpoint, ...] = ()

    def encode(self, header: Header) -> bytes:
        out = writer(header)
        out.int32(0).int16(self.top_error)
        if self.top_error:
            out.count(0)
        else:
            out.count(1).string(self.topic).count(1)
            self._partition(out)
            out.tags()
        tags = {}
        if self.endpoints and header.version >= 1:
            tags[0] = _endpoints(self.endpoints)
        return out.tags(tags).done()

    def _partition(self, out: Writer) -> None:
        out.int32(self.index).int16(self.error)
        out.int64(self.snapshot.end_offset).int32(self.snapshot.epoch).tags()
        out.int64(self.size).int64(self.position).bytes_(self.data)
        tags = {}
        if (self.leader_id, self.leader_epoch) != (-1, -1):
            leader = Writer(is_flexible=True)
            tags[0] = leader.int32(self.leader_id).int32(self.leader_epoch).tags().done()
        out.tags(tags)


def _endpoints(endpoints: tuple[Endpoint, ...]) -> bytes:
    out = Writer(is_flexible=True).count(len(endpoints))
    for each in endpoints:
        out.int32(each.node_id).string(each.host).uint16(each.port).tags()
    return out.done()
