"""The messages of a broker's raft client and life cycle, from the layouts of Kafka's messages."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from tests.stand_in_quorum.wire import MalformedError, Reader, Writer
from tests.strict_broker.traps import BrokenError, Trap

TOPIC = "__cluster_metadata"
TOPIC_ID = bytes(15) + b"\1"

_T = TypeVar("_T")
_P = ParamSpec("_P")

Address = tuple[str, int]


def _whole(
    read: Callable[Concatenate[Reader, _P], _T],
) -> Callable[Concatenate[Reader, _P], _T]:
    """Read a message that has nothing after it; anything else is MALFORMED."""

    @functools.wraps(read)
    def checked(reader: Reader, /, *args: _P.args, **named: _P.kwargs) -> _T:
        try:
            found = read(reader, *args, **named)
            reader.end()
        except MalformedError as bad:
            raise BrokenError(Trap.MALFORMED, f"{read.__name__}: {bad}") from None
        return found

    return checked


def _out() -> Writer:
    return Writer(is_flexible=True)


def _inner(data: bytes) -> Reader:
    return Reader(data, is_flexible=True)


@dataclass(frozen=True)
class Place:
    """Where a broker fetches: its epoch, the end of its log and the epoch of its last batch."""

    leader_epoch: int
    offset: int
    last_epoch: int
    high_watermark: int


def fetch(
    version: int,
    place: Place,
    *,
    node_id: int,
    cluster_id: str,
    directory: bytes,
    max_wait_ms: int,
    max_bytes: int,
) -> bytes:
    """Encode a request to Fetch of version 13 or later."""
    out = _out()
    if version <= 14:
        out.int32(node_id)
    out.int32(max_wait_ms).int32(0).int32(max_bytes).int8(0).int32(0).int32(-1)
    out.count(1).raw(TOPIC_ID).count(1)
    out.int32(0).int32(place.leader_epoch).int64(place.offset).int32(place.last_epoch)
    out.int64(-1).int32(0)  # the start of a follower's log, the partition's MaxBytes
    tags = {}
    if version >= 17:
        tags[0] = directory
    if version >= 18:
        tags[1] = _out().int64(place.high_watermark).done()
    out.tags(tags).tags()
    out.count(0).string("")
    tags = {0: _out().string(cluster_id).done()}
    if version >= 15:
        tags[1] = _out().int32(node_id).int64(-1).tags().done()
    return out.tags(tags).done()


@dataclass(frozen=True)
class Leader:
    """The leader that an answer names; -1 for none."""

    node_id: int = -1
    epoch: int = -1


@dataclass(frozen=True)
class Fetched:
    """An answer to Fetch; the fields after `topic_id` are those of its only partition."""

    error: int
    topics: int = 0
    topic_id: bytes = b""
    partition_error: int = 0
    high_watermark: int = -1
    leader: Leader = field(default_factory=Leader)
    diverging: tuple[int, int] | None = None  # epoch, end offset
    snapshot: tuple[int, int] | None = None  # end offset, epoch
    records: bytes = field(default=b"", repr=False)
    addresses: dict[int, Address] = field(default_factory=dict)


@_whole
def read_fetched(reader: Reader, version: int) -> Fetched:
    reader.int32()
    error = reader.int16()
    reader.int32()
    topics = reader.items(lambda: _topic(reader))
    tags = reader.tags()
    addresses = _addresses(tags.get(0), lambda inner: inner.int32(), has_rack=True)
    if version < 17 and addresses:
        raise MalformedError("addresses of nodes before version 17")
    if len(topics) != 1 or len(topics[0][1]) != 1:
        return Fetched(error, topics=len(topics))
    topic_id, (partition,) = topics[0]
    return Fetched(error, len(topics), topic_id, *partition, addresses=addresses)


_Partition = tuple[int, int, Leader, tuple[int, int] | None, tuple[int, int] | None, bytes]


def _topic(reader: Reader) -> tuple[bytes, list[_Partition]]:
    topic_id = reader.uuid()
    partitions = reader.items(lambda: _partition(reader))
    reader.tags()
    return topic_id, partitions


def _partition(reader: Reader) -> _Partition:
    index, error, high_watermark = reader.int32(), reader.int16(), reader.int64()
    if index != 0:
        raise MalformedError(f"partition {index}")
    reader.int64()
    reader.int64()
    reader.array(lambda: (reader.int64(), reader.int64(), reader.tags()))
    reader.int32()
    records = _records(reader)
    tags = reader.tags()
    diverging = snapshot = None
    if 0 in tags:
        inner = _inner(tags[0])
        diverging = inner.int32(), inner.int64()
    if 2 in tags:
        inner = _inner(tags[2])
        snapshot = inner.int64(), inner.int32()
    return error, high_watermark, _leader(tags.get(1)), diverging, snapshot, records


def _records(reader: Reader) -> bytes:
    """Return the records of an answer; null is none."""
    size = reader.varint() - 1
    return b"" if size < 0 else reader.take(size)


def _leader(data: bytes | None) -> Leader:
    if data is None:
        return Leader()
    inner = _inner(data)
    return Leader(inner.int32(), inner.int32())


def _addresses(
    data: bytes | None, port: Callable[[Reader], int], *, has_rack: bool
) -> dict[int, Address]:
    if data is None:
        return {}
    inner = _inner(data)

    def item() -> tuple[int, Address]:
        node_id, address = inner.int32(), (inner.text(), port(inner))
        if has_rack:
            inner.string()
        inner.tags()
        return node_id, address

    return dict(inner.items(item))


def fetch_snapshot(
    version: int,
    snapshot: tuple[int, int],
    position: int,
    *,
    leader_epoch: int,
    node_id: int,
    cluster_id: str,
    directory: bytes,
    max_bytes: int,
) -> bytes:
    out = _out().int32(node_id).int32(max_bytes).count(1).string(TOPIC).count(1)
    out.int32(0).int32(leader_epoch).int64(snapshot[0]).int32(snapshot[1]).tags().int64(position)
    out.tags({0: directory} if version >= 1 else {}).tags()
    return out.tags({0: _out().string(cluster_id).done()}).done()


@dataclass(frozen=True)
class Chunk:
    """An answer to FetchSnapshot."""

    error: int
    topics: int = 0
    topic: str = ""
    partition_error: int = 0
    snapshot: tuple[int, int] = (-1, -1)
    size: int = 0
    position: int = 0
    data: bytes = field(default=b"", repr=False)
    leader: Leader = field(default_factory=Leader)
    addresses: dict[int, Address] = field(default_factory=dict)


@_whole
def read_chunk(reader: Reader, version: int) -> Chunk:
    reader.int32()
    error = reader.int16()
    topics = reader.items(lambda: _chunk_topic(reader))
    tags = reader.tags()
    addresses = _addresses(tags.get(0), _uint16, has_rack=False) if version >= 1 else {}
    if len(topics) != 1 or len(topics[0][1]) != 1:
        return Chunk(error, topics=len(topics))
    name, (partition,) = topics[0]
    return Chunk(error, len(topics), name, *partition, addresses=addresses)


def _uint16(reader: Reader) -> int:
    return int.from_bytes(reader.take(2), "big")


def _chunk_topic(
    reader: Reader,
) -> tuple[str, list[tuple[int, tuple[int, int], int, int, bytes, Leader]]]:
    name = reader.text()

    def partition() -> tuple[int, tuple[int, int], int, int, bytes, Leader]:
        reader.int32()
        error = reader.int16()
        snapshot = reader.int64(), reader.int32()
        reader.tags()
        size, position, data = reader.int64(), reader.int64(), _records(reader)
        return error, snapshot, size, position, data, _leader(reader.tags().get(0))

    partitions = reader.items(partition)
    reader.tags()
    return name, partitions


@dataclass(frozen=True)
class Endpoint:
    """A listener of a broker; protocol 0 is PLAINTEXT."""

    name: str
    host: str
    port: int
    protocol: int = 0


def register(
    version: int,
    *,
    node_id: int,
    cluster_id: str,
    incarnation: bytes,
    endpoints: list[Endpoint],
    features: dict[str, tuple[int, int]],
    directories: list[bytes],
    previous_epoch: int,
    is_migrating: bool = False,
) -> bytes:
    """Encode a registration; before version 4 features from level 0 on are left out."""
    out = _out().int32(node_id).string(cluster_id).raw(incarnation).count(len(endpoints))
    for each in endpoints:
        out.string(each.name).string(each.host).uint16(each.port).int16(each.protocol).tags()
    named = {n: levels for n, levels in features.items() if levels[0] > 0 or version >= 4}
    out.count(len(named))
    for name, (low, high) in named.items():
        out.string(name).int16(low).int16(high).tags()
    out.string(None)
    if version >= 1:
        out.boolean(is_migrating)
    if version >= 2:
        out.count(len(directories))
        for directory in directories:
            out.raw(directory)
    if version >= 3:
        out.int64(previous_epoch)
    return out.tags().done()


@_whole
def read_registered(reader: Reader) -> tuple[int, int]:
    """Return the error and the broker epoch."""
    reader.int32()
    found = reader.int16(), reader.int64()
    reader.tags()
    return found


def beat(
    version: int,
    *,
    node_id: int,
    broker_epoch: int,
    offset: int,
    want_fence: bool = False,
    want_shutdown: bool = False,
    offline: list[bytes] | None = None,
    cordoned: list[bytes] | None = None,
) -> bytes:
    """Encode a heartbeat; `offline` and `cordoned` are log directories, None is left out."""
    out = _out().int32(node_id).int64(broker_epoch).int64(offset)
    tags = {}
    if version >= 1 and offline is not None:
        tags[0] = _uuids(offline)
    if version >= 2 and cordoned is not None:
        tags[1] = _uuids(cordoned)
    return out.boolean(want_fence).boolean(want_shutdown).tags(tags).done()


def _uuids(ids: list[bytes]) -> bytes:
    return _out().count(len(ids)).raw(b"".join(ids)).done()


@dataclass(frozen=True)
class Beaten:
    """An answer to a heartbeat."""

    error: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


@_whole
def read_beaten(reader: Reader) -> Beaten:
    reader.int32()
    found = Beaten(reader.int16(), reader.boolean(), reader.boolean(), reader.boolean())
    reader.tags()
    return found
