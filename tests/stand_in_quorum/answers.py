"""The smaller answers: ApiVersions, Metadata of a broker, DescribeQuorum and its request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.stand_in_quorum.fetch import METADATA_TOPIC, Endpoint
from tests.stand_in_quorum.frames import API_VERSIONS, Header, writer
from tests.stand_in_quorum.releases import Versions
from tests.stand_in_quorum.wire import Reader, Writer

UNSUPPORTED_VERSION = 35


def api_versions(header: Header, apis: Mapping[int, Versions]) -> bytes:
    """Encode what a listener answers; a version of the request that is unknown gets that of 0."""
    low, high = apis[API_VERSIONS]
    if not low <= header.version <= high:
        out = Writer(is_flexible=False).int16(UNSUPPORTED_VERSION)
        return out.count(1).int16(API_VERSIONS).int16(low).int16(high).done()
    out = writer(header).int16(0).count(len(apis))
    for key in sorted(apis):
        out.int16(key).int16(apis[key][0]).int16(apis[key][1]).tags()
    if header.version >= 1:
        out.int32(0)
    return out.tags().done()


def read_api_versions(header: Header, reader: Reader) -> tuple[str, str]:
    """Return the name and the version of the client; empty before version 3."""
    if header.version < 3:
        reader.end()
        return "", ""
    name, version = reader.text(), reader.text()
    reader.tags()
    reader.end()
    return name, version


@dataclass(frozen=True)
class QuorumState:
    """What DescribeQuorum tells about the metadata log; replicas are (node id, end offset)."""

    error: int
    leader_id: int = -1
    leader_epoch: int = -1
    high_watermark: int = -1
    voters: tuple[tuple[int, int], ...] = ()
    observers: tuple[tuple[int, int], ...] = ()
    nodes: tuple[Endpoint, ...] = ()


def read_describe_quorum(reader: Reader) -> list[str]:
    """Return the names of the topics that are asked about."""

    def topic() -> str:
        name = reader.text()
        reader.items(lambda: (reader.int32(), reader.tags()))
        reader.tags()
        return name

    names = reader.items(topic)
    reader.tags()
    reader.end()
    return names


def describe_quorum(
    header: Header, state: QuorumState, *, directories: Mapping[int, bytes], listener: str
) -> bytes:
    """Encode the answer; `directories` has the directory id of a node that has one."""
    out = writer(header).int16(0)
    if header.version >= 2:
        out.string(None)
    out.count(1).string(METADATA_TOPIC).count(1).int32(0).int16(state.error)
    if header.version >= 2:
        out.string(None)
    out.int32(state.leader_id).int32(state.leader_epoch).int64(state.high_watermark)
    for replicas in (state.voters, state.observers):
        out.count(len(replicas))
        for node_id, end_offset in replicas:
            out.int32(node_id)
            if header.version >= 2:
                out.raw(directories.get(node_id, bytes(16)))
            out.int64(end_offset)
            if header.version >= 1:
                out.int64(-1).int64(-1)
            out.tags()
    out.tags().tags()
    if header.version >= 2:
        out.count(len(state.nodes))
        for node in state.nodes:
            out.int32(node.node_id).count(1)
            out.string(listener).string(node.host).uint16(node.port).tags().tags()
    return out.tags().done()


def refused_describe_quorum(header: Header, error: int) -> bytes:
    """Encode an answer that has an error and nothing else."""
    out = writer(header).int16(error)
    if header.version >= 2:
        out.string(None)
    out.count(0)
    if header.version >= 2:
        out.count(0)
    return out.tags().done()


def read_metadata(header: Header, reader: Reader) -> list[str] | None:
    """Return the names of the topics that are asked for; None for all."""

    def topic() -> str:
        if header.version >= 10:
            reader.uuid()
        name = reader.string() if header.version >= 10 else reader.text()
        reader.tags()
        return name or ""

    names = reader.array(topic)
    if header.version >= 4:
        reader.boolean()
    if 8 <= header.version <= 10:
        reader.boolean()
    if header.version >= 8:
        reader.boolean()
    reader.tags()
    reader.end()
    return names if names or header.version >= 1 else None


def metadata(
    header: Header, brokers: Sequence[Endpoint], cluster_id: str, controller_id: int
) -> bytes:
    """Encode the answer of a broker that has no topics."""
    out = writer(header)
    if header.version >= 3:
        out.int32(0)
    out.count(len(brokers))
    for broker in brokers:
        out.int32(broker.node_id).string(broker.host).int32(broker.port)
        if header.version >= 1:
            out.string(None)
        out.tags()
    if header.version >= 2:
        out.string(cluster_id)
    if header.version >= 1:
        out.int32(controller_id)
    out.count(0)
    if 8 <= header.version <= 10:
        out.int32(-(2**31))
    if header.version >= 13:
        out.int16(0)
    return out.tags().done()
