"""Fetch and FetchSnapshot of `__cluster_metadata`: the log in Kafka's form, for observers.

An observer is any reader: it has the replica id -1, or a broker's id. Observers are not registered.
They are sent committed records only.

The checks come in Kafka's order: the right, the cluster, the partition, offset and epoch, the
leader, the position in the log. The rules are those in Kafka's source; they were never tested
against Kafka.

Source: `KafkaRaftClient` of Kafka 3.9 to 4.3; KIP-595 (Fetch), KIP-630 (snapshots), KIP-853 (the
leader's address), KIP-1166 (the observer's high watermark).
"""

import asyncio
import socket

import msgspec
from msgspec.structs import replace

from api.controller_server.form_reader import FormReader
from api.controller_server.voter_announcement import VoterAnnouncement
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.errors import CODES, NONE, code_for
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.records_io import (
    EpochEndOffset,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    SnapshotId,
)
from api.kafka.messages.snapshots import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    SnapshotChunk,
    SnapshotChunks,
    SnapshotEndpoint,
    SnapshotPartition,
)
from api.kafka.quorum import METADATA_TOPIC, METADATA_TOPIC_ID
from api.security.listeners import ListenerAddress
from api.service.service import Service
from api.transport.log_limit import limited_logger
from controller.authorization.authorizer import CLUSTER, Operation
from controller.authorization.caller import Caller
from records.errors import MetadataLogError, RequestError, UnavailableError
from replay.kafka_form.served_log import Point, Reading

log = limited_logger(__name__)

FETCH_SIZE_BYTES_MAX = 1024 * 1024
"""Size of an answer unless its first batch is larger; Kafka 4.3 requests as much."""

WAIT_MS_MAX = 60_000
"""Maximum wait of a Fetch. Kafka has no limit; its observers request 500 ms."""

_IDS_FROM = 13
_ENDPOINTS_FROM = 17
_LOOK_EVERY_S = 0.5
"""How often a waiting request checks whether this node still leads."""

_READ_IN_S = 1.0
"""Shortest time limit of the first requests, which wait until the log was read once."""

_NO_LEADER = -1


class ObserverRequests:
    """Handlers for one listener of a service."""

    def __init__(
        self,
        service: Service,
        reader: FormReader,
        voters: VoterAnnouncement,
        address: ListenerAddress,
        fallback: Handler,
    ) -> None:
        """Create the handlers.

        Args:
            voters: Announces the service to brokers.
            address: The listener's address with its actual port, as told to observers.
            fallback: Handles a Fetch of other topics.
        """
        self._service = service
        self._reader = reader
        self._voters = voters
        self._address = address
        self._fallback = fallback

    def handlers(self) -> dict[Api, Handler]:
        """Return the handler of each request type, for a listener."""
        return {apis.FETCH: self.fetch, apis.FETCH_SNAPSHOT: self.fetch_snapshot}

    async def fetch(self, frame: RequestFrame, caller: Caller) -> Response | bytes | None:
        """Answer a Fetch; wait up to its `max_wait_ms` if the observer already has all records."""
        request = frame.body
        assert isinstance(request, FetchRequest)
        if not _is_about_metadata(request):
            return await self._fallback(frame, caller)
        code = self._refusal(request.cluster_id, caller)
        wanted = _only_partition(request, frame.version)
        if code != NONE or wanted is None:
            return FetchResponse(error_code=code or CODES["INVALID_REQUEST"])
        if request.follower >= 0 and self._service.is_active:
            await self._voters.made(*self._as_voter(), caller)
        partition = await self._fetched(request, wanted)
        return _response(
            partition, await self._leader(has_endpoints=frame.version >= _ENDPOINTS_FROM)
        )

    async def fetch_snapshot(self, frame: RequestFrame, caller: Caller) -> Response:
        """Answer a FetchSnapshot with bytes of the base's checkpoint."""
        request = frame.body
        assert isinstance(request, FetchSnapshotRequest)
        code = self._refusal(request.cluster_id, caller)
        asked = [(topic.name, each) for topic in request.topics for each in topic.partitions]
        if code != NONE or len(asked) != 1:
            return FetchSnapshotResponse(error_code=code or CODES["INVALID_REQUEST"])
        ((name, wanted),) = asked
        if (name, wanted.partition) != (METADATA_TOPIC, 0):
            unknown = SnapshotChunk(
                index=wanted.partition, error_code=CODES["UNKNOWN_TOPIC_OR_PARTITION"]
            )
            return FetchSnapshotResponse(topics=(SnapshotChunks(name=name, partitions=(unknown,)),))
        leader = await self._leader(has_endpoints=frame.version > 0)
        chunk = await self._chunk(wanted, request.max_bytes)
        chunk = replace(chunk, index=0, current_leader=leader.named)
        return FetchSnapshotResponse(
            topics=(SnapshotChunks(name=name, partitions=(chunk,)),),
            node_endpoints=tuple(
                [SnapshotEndpoint(node_id=leader.node_id, host=h, port=p) for h, p in leader.at]
            ),
        )

    def _refusal(self, cluster_id: str | None, caller: Caller) -> int:
        """Return the error code that refuses the whole request; NONE if it is accepted."""
        if not self._service.access(caller).allows(Operation.CLUSTER_ACTION, CLUSTER):
            return CODES["CLUSTER_AUTHORIZATION_FAILED"]
        if cluster_id not in (None, self._service.settings.cluster_id):
            return CODES["INCONSISTENT_CLUSTER_ID"]
        return NONE

    def _leader_error(self, leader_epoch: int) -> int:
        """Return the error code for a request in an epoch; NONE if this node is its leader."""
        epoch = self._service.controller_epoch
        if leader_epoch < epoch:
            return CODES["FENCED_LEADER_EPOCH"]
        if leader_epoch > epoch:
            return CODES["UNKNOWN_LEADER_EPOCH"]
        return NONE if self._service.is_active else CODES["NOT_LEADER_OR_FOLLOWER"]

    async def _fetched(self, request: FetchRequest, wanted: FetchPartition) -> FetchedPartition:
        if request.max_wait_ms < 0 or not _is_sane(wanted):
            return _failed(CODES["INVALID_REQUEST"])
        code = self._leader_error(wanted.current_leader_epoch)
        if code == NONE and request.follower == self._service.settings.node_id:
            code = CODES["UNKNOWN_SERVER_ERROR"]
        self._reader.begin()  # also for who asks for the leader first
        if code != NONE:
            return _failed(code)
        try:
            return await self._read(request, wanted)
        except (MetadataLogError, OSError) as error:
            log.warning("the log cannot be read for observers: %s", error)
            is_passing = isinstance(error, UnavailableError)
            return _failed(CODES["BROKER_NOT_AVAILABLE" if is_passing else "UNKNOWN_SERVER_ERROR"])

    async def _read(self, request: FetchRequest, wanted: FetchPartition) -> FetchedPartition:
        loop, feed = asyncio.get_running_loop(), self._service.feed
        deadline = loop.time() + min(request.max_wait_ms, WAIT_MS_MAX) / 1_000
        if not await self._reader.is_ready(max(deadline - loop.time(), _READ_IN_S)):
            return FetchedPartition(
                partition_index=0
            )  # as of a leader that knows no high watermark
        size_max = max(0, min(request.max_bytes, FETCH_SIZE_BYTES_MAX))
        while True:
            code = self._leader_error(wanted.current_leader_epoch)
            if code != NONE:
                return _failed(code)
            end, offset = feed.end_offset, wanted.fetch_offset
            reading = await self._reader.read(offset, wanted.last_fetched_epoch, end, size_max)
            left = deadline - loop.time()
            if reading != Reading() or left <= 0 or wanted.high_watermark < end:
                return self._partition(reading, end)
            await feed.beyond(offset, min(left, _LOOK_EVERY_S))

    def _partition(self, reading: Reading, end_offset: int) -> FetchedPartition:
        found = FetchedPartition(
            partition_index=0,
            high_watermark=end_offset,
            log_start_offset=self._reader.start_offset,
            records=reading.batches,
        )
        if reading.diverging is not None:
            end, epoch = reading.diverging.end_offset, reading.diverging.leader_epoch
            return replace(found, diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end))
        if reading.snapshot is not None:
            end, epoch = reading.snapshot.end_offset, reading.snapshot.leader_epoch
            return replace(found, snapshot_id=SnapshotId(end_offset=end, epoch=epoch))
        return found

    async def _chunk(self, wanted: SnapshotPartition, size_max: int) -> SnapshotChunk:
        code = self._leader_error(wanted.current_leader_epoch)
        if code != NONE:
            return SnapshotChunk(index=0, error_code=code)
        snapshot = wanted.snapshot_id
        size_max = max(0, min(size_max, FETCH_SIZE_BYTES_MAX))
        self._reader.begin()
        try:
            if not await self._reader.is_ready(_READ_IN_S):
                raise RequestError(
                    "SNAPSHOT_NOT_FOUND", "the log is still being read; ask for the snapshot again"
                )
            content, size = await self._reader.snapshot_part(
                Point(snapshot.end_offset, snapshot.epoch), wanted.position, size_max
            )
        except RequestError as error:
            return SnapshotChunk(index=0, error_code=code_for(error))
        except (MetadataLogError, OSError) as error:
            log.warning("the base cannot be read for observers: %s", error)
            is_passing = isinstance(error, UnavailableError)
            code = CODES["SNAPSHOT_NOT_FOUND" if is_passing else "UNKNOWN_SERVER_ERROR"]
            return SnapshotChunk(index=0, error_code=code)
        return SnapshotChunk(
            index=0,
            snapshot_id=snapshot,
            size=size,
            position=wanted.position,
            unaligned_records=content,
        )

    async def _leader(self, *, has_endpoints: bool) -> "_Leader":
        """Return the leader to name in a response.

        An observer stops if it is told two leaders of an epoch, or a leader without an address.

        Args:
            has_endpoints: Whether the response has a field for the leader's address.
        """
        service, epoch = self._service, self._service.controller_epoch
        if service.is_active:
            here = (self._here(),) if has_endpoints else ()
            return _Leader(service.settings.node_id, epoch, here)
        # The lease may name another node already than the epoch that was followed to here.
        node_id = await self._reader.leader_of(epoch)
        address = service.leader_addresses.get("kafka") if service.leader_id == node_id else None
        if node_id == service.settings.node_id:
            return _Leader(_NO_LEADER, epoch)
        if not has_endpoints:
            return _Leader(node_id, epoch)
        if address is None:
            return _Leader(_NO_LEADER, epoch)
        return _Leader(node_id, epoch, (_host_and_port(address),))

    def _here(self) -> tuple[str, int]:
        """Return where brokers reach this listener."""
        return _reachable(self._address.host), self._address.port

    def _as_voter(self) -> tuple[str, int]:
        """Return where brokers reach this node while it leads: as advertised, or this listener."""
        advertised = self._service.leader_addresses.get("kafka")
        return self._here() if advertised is None else _host_and_port(advertised)


class _Leader(msgspec.Struct, frozen=True):
    """The leader that a response names; `at` is the leader's address, or empty."""

    node_id: int
    epoch: int
    at: tuple[tuple[str, int], ...] = ()

    @property
    def named(self) -> LeaderIdAndEpoch:
        return LeaderIdAndEpoch(leader_id=self.node_id, leader_epoch=self.epoch)


def is_by_broker(frame: RequestFrame) -> bool:
    """True if a broker sent this request for the metadata log; other observers have no id."""
    match frame.body:
        case FetchRequest() as request:
            return request.follower >= 0 and _is_about_metadata(request)
        case FetchSnapshotRequest() as request:
            return request.replica_id >= 0
    return False


def _is_about_metadata(request: FetchRequest) -> bool:
    # A loop: a request may name thousands of topics, and a generator is called for each.
    for topic in request.topics:
        if topic.topic_id == METADATA_TOPIC_ID or topic.topic == METADATA_TOPIC:
            return True
    return False


def _only_partition(request: FetchRequest, version: int) -> FetchPartition | None:
    """Return the metadata log's partition; None if the request is not for that partition alone."""
    partitions = [each for topic in request.topics for each in topic.partitions]
    if version < _IDS_FROM or len(request.topics) != 1 or len(partitions) != 1:
        return None
    return partitions[0] if partitions[0].partition == 0 else None


def _is_sane(wanted: FetchPartition) -> bool:
    is_known_epoch = 0 <= wanted.last_fetched_epoch <= wanted.current_leader_epoch
    return wanted.fetch_offset >= 0 and is_known_epoch


def _failed(code: int) -> FetchedPartition:
    return FetchedPartition(partition_index=0, error_code=code)


def _response(partition: FetchedPartition, leader: _Leader) -> FetchResponse:
    topic = FetchedTopic(
        topic_id=METADATA_TOPIC_ID,
        partitions=(replace(partition, current_leader=leader.named),),
    )
    return FetchResponse(
        responses=(topic,),
        node_endpoints=tuple(
            [NodeEndpoint(node_id=leader.node_id, host=h, port=p) for h, p in leader.at]
        ),
    )


def _reachable(host: str) -> str:
    """Return a listener's host, or this machine's name if it listens on all of its addresses."""
    return socket.gethostname() if host in ("", "0.0.0.0", "::") else host


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)
