"""Fetch, versions 12 to 18, as far as the metadata log uses it; there are no fetch sessions."""

from dataclasses import dataclass, field

from tests.stand_in_quorum.frames import Header, writer
from tests.stand_in_quorum.log import SnapshotId
from tests.stand_in_quorum.wire import MalformedError, Reader, Writer

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = bytes(15) + b"\1"
NO_DIRECTORY = bytes(16)
HIGH_WATERMARK_OFF = 2**63 - 1


@dataclass(frozen=True)
class FetchPartition:
    """From where a request reads, and what the reader knows."""

    index: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    max_bytes: int
    directory_id: bytes
    high_watermark: int


@dataclass(frozen=True)
class FetchTopic:
    """A topic by id, before version 13 by name."""

    name: str | None
    topic_id: bytes
    partitions: tuple[FetchPartition, ...]


@dataclass(frozen=True)
class FetchRequest:
    """A request to Fetch; `cluster_id` is None if it does not say which cluster it means."""

    cluster_id: str | None
    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: tuple[FetchTopic, ...]
    rack_id: str


def optional_text(tags: dict[int, bytes], tag: int) -> str | None:
    """Return a tagged string; None if it is absent."""
    return Reader(tags[tag], is_flexible=True).string() if tag in tags else None


def read_fetch(header: Header, reader: Reader) -> FetchRequest:
    """Decode a request.

    Raises:
        MalformedError: It has not the layout of its version.
    """
    version = header.version
    if version < 12:
        raise MalformedError(f"Fetch {version} is not known here")
    replica_id = reader.int32() if version <= 14 else -1
    max_wait_ms, min_bytes, max_bytes = reader.int32(), reader.int32(), reader.int32()
    isolation, session, session_epoch = reader.int8(), reader.int32(), reader.int32()
    topics = tuple(reader.items(lambda: _read_topic(version, reader)))
    reader.items(lambda: _skip_forgotten(version, reader))
    rack_id = reader.text()
    tags = reader.tags()
    reader.end()
    replica_epoch = -1
    if version >= 15 and 1 in tags:
        state = Reader(tags[1], is_flexible=True)
        replica_id, replica_epoch = state.int32(), state.int64()
        state.tags()
        state.end()
    return FetchRequest(
        optional_text(tags, 0),
        replica_id,
        replica_epoch,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation,
        session,
        session_epoch,
        topics,
        rack_id,
    )


def _read_topic(version: int, reader: Reader) -> FetchTopic:
    name = reader.text() if version <= 12 else None
    topic_id = reader.uuid() if version >= 13 else bytes(16)
    partitions = tuple(reader.items(lambda: _read_partition(version, reader)))
    reader.tags()
    return FetchTopic(name, topic_id, partitions)


def _read_partition(version: int, reader: Reader) -> FetchPartition:
    index, leader_epoch = reader.int32(), reader.int32()
    offset, last_epoch = reader.int64(), reader.int32()
    reader.int64()  # the log start of a follower
    max_bytes = reader.int32()
    tags = reader.tags()
    directory, high_watermark = NO_DIRECTORY, HIGH_WATERMARK_OFF
    if version >= 17 and 0 in tags:
        directory = Reader(tags[0], is_flexible=True).uuid()
    if version >= 18 and 1 in tags:
        high_watermark = Reader(tags[1], is_flexible=True).int64()
    return FetchPartition(
        index, leader_epoch, offset, last_epoch, max_bytes, directory, high_watermark
    )


def _skip_forgotten(version: int, reader: Reader) -> None:
    reader.text() if version <= 12 else reader.uuid()
    reader.items(reader.int32)
    reader.tags()


@dataclass(frozen=True)
class Endpoint:
    """Where a node listens."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True)
class FetchAnswer:
    """An answer about the one partition; with `top_error` it has no partition at all."""

    top_error: int = 0
    error: int = 0
    topic_id: bytes = METADATA_TOPIC_ID
    leader_id: int = -1
    leader_epoch: int = -1
    high_watermark: int = -1
    log_start_offset: int = -1
    diverging: tuple[int, int] | None = None  # epoch, end offset
    snapshot: SnapshotId | None = None
    records: bytes = field(default=b"", repr=False)
    endpoints: tuple[Endpoint, ...] = ()

    def encode(self, header: Header) -> bytes:
        out = writer(header)
        out.int32(0).int16(self.top_error).int32(0)
        if self.top_error:
            out.count(0)
        else:
            out.count(1)
            if header.version <= 12:
                out.string(METADATA_TOPIC)
            else:
                out.raw(self.topic_id)
            out.count(1)
            self._partition(out)
            out.tags()
        tags = {}
        if self.endpoints and header.version >= 17:
            tags[0] = _endpoints(self.endpoints)
        return out.tags(tags).done()

    def _partition(self, out: Writer) -> None:
        out.int32(0).int16(self.error).int64(self.high_watermark)
        out.int64(-1)  # last stable offset
        out.int64(self.log_start_offset)
        out.count(0)  # aborted transactions
        out.int32(-1)  # preferred read replica
        out.bytes_(self.records)
        tags = {}
        if self.diverging:
            epoch, end_offset = self.diverging
            tags[0] = _tagged().int32(epoch).int64(end_offset).tags().done()
        if (self.leader_id, self.leader_epoch) != (-1, -1):
            tags[1] = _tagged().int32(self.leader_id).int32(self.leader_epoch).tags().done()
        if self.snapshot:
            end_offset, epoch = self.snapshot.end_offset, self.snapshot.epoch
            tags[2] = _tagged().int64(end_offset).int32(epoch).tags().done()
        out.tags(tags)


def _tagged() -> Writer:
    return Writer(is_flexible=True)


def _endpoints(endpoints: tuple[Endpoint, ...]) -> bytes:
    out = _tagged().count(len(endpoints))
    for each in endpoints:
        out.int32(each.node_id).string(each.host).int32(each.port).string(None).tags()
    return out.done()
