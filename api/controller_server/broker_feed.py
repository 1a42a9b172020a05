"""The controller's side of a broker's stream: sends updates and processes the responses.

Updates are sent in rounds, one at a time. A round has the changes since the last round:
LeaderAndIsr first, then StopReplica, then UpdateMetadata with the offset. Partitions that failed on
the broker are retried every retry_ms, up to RETRIES_MAX times; after that they wait for the FULL
request of the next connection. Results of replica deletions are written to the log immediately; the
log schedules their retries.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import TypeVar

import msgspec

from api.broker.configs import broker_configs
from api.controller_server import broker_view, view_requests
from api.controller_server.broker_view import BrokerView, PartitionKey, Sender, Stop
from api.kafka import apis, frames
from api.kafka.connection import REQUEST_TIMEOUT_S, Connection
from api.kafka.errors import CODES, NONE, name_of
from api.kafka.frames import RequestFrame
from api.kafka.messages.brokers import FollowLogRequest, FollowLogResponse
from api.kafka.messages.replicas import (
    BrokerConfig,
    LeaderAndIsrResponse,
    ReplicaResult,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from api.large_work import in_thread
from api.requests.command import ITEMS_MAX
from api.service.service import Service
from api.transport.log_limit import limited_logger
from controller.authorization.authorizer import CLUSTER, Operation
from controller.authorization.caller import ANONYMOUS, Caller
from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
)
from records.envelope import Origin
from records.errors import RequestError, UnavailableError
from records.text import uuid_text
from replay.image.metadata import MetadataImage

T = TypeVar("T")

log = limited_logger(__name__)

RETRY_MS = 1_000
RETRIES_MAX = 5
_PARTITION_TIMEOUT_S = 0.05
"""Extra time per partition in a request: the broker creates a folder for each."""


class BrokerFeeds:
    """Sends updates to the brokers that connect."""

    def __init__(self, service: Service, *, retry_ms: int = RETRY_MS) -> None:
        """Create the feeds of a service.

        Args:
            retry_ms: Delay before failed partitions are retried.
        """
        self._service = service
        self._retry_ms = retry_ms

    async def feed(
        self,
        frame: RequestFrame,
        caller: Caller,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Answer a broker's subscription, and send it updates until it disconnects."""
        request = frame.body
        assert isinstance(request, FollowLogRequest)
        response = self._response(request, caller)
        raw = frames.encode_response(apis.FOLLOW_LOG, frame.version, frame.correlation_id, response)
        writer.write(raw)
        await writer.drain()
        if response.error_code != NONE:
            return
        client_id = f"controller-{self._service.settings.node_id}"
        connection = Connection(reader, writer, client_id, f"broker {request.broker_id}")
        try:
            feed = _Feed(self._service, self._sender(request), request, caller, connection)
            await feed.run(self._retry_ms)
        finally:
            await connection.close()

    def _response(self, request: FollowLogRequest, caller: Caller) -> FollowLogResponse:
        if not self._service.access(caller).allows(Operation.CLUSTER_ACTION, CLUSTER):
            return FollowLogResponse(error_code=CODES["CLUSTER_AUTHORIZATION_FAILED"])
        if not _is_current(self._service.image, request):
            return FollowLogResponse(error_code=CODES["STALE_BROKER_EPOCH"])
        return FollowLogResponse(controller_epoch=self._service.controller_epoch)

    def _sender(self, request: FollowLogRequest) -> Sender:
        return Sender(
            controller_id=self._service.settings.node_id,
            controller_epoch=self._service.controller_epoch,
            broker_id=request.broker_id,
            broker_epoch=request.broker_epoch,
            wants_users=request.wants_users,
            settings=self._service.settings,
        )


class _Failures(msgspec.Struct):
    """Partitions and replica stops that failed on a broker, each with its number of attempts."""

    states: dict[PartitionKey, int]
    stops: dict[Stop, int]

    def __bool__(self) -> bool:
        return bool(self.states or self.stops)


class _Feed:
    def __init__(
        self,
        service: Service,
        sender: Sender,
        request: FollowLogRequest,
        caller: Caller,
        connection: Connection,
    ) -> None:
        self._service = service
        self._sender = sender
        self._request = request
        self._caller = caller
        self._connection = connection
        self._failures = _Failures({}, {})
        # The offset that the broker has, None if it needs a full update.
        self._offset: int | None = None
        if request.controller_epoch == sender.controller_epoch:
            self._offset = request.metadata_offset

    async def run(self, retry_ms: int) -> None:
        """Send the broker its updates until its registration or this controller is replaced."""
        while self._service.is_active and _is_current(self._service.image, self._request):
            image = self._service.image
            seen = await self._view(image)
            await self._round(image, seen)
            self._offset = image.provenance.offset
            await self._news(retry_ms)

    async def _view(self, image: MetadataImage) -> BrokerView:
        change = None if self._offset is None else self._service.history.since(self._offset)
        if change is None:
            return await in_thread(partial(broker_view.full_view, image, self._sender))
        return broker_view.changed_view(change, self._sender)

    async def _news(self, retry_ms: int) -> None:
        """Wait until the log advances or the next retry is due."""
        assert self._offset is not None
        moved = self._service.history.beyond(self._offset)
        ended = self._connection.ended()
        pause = retry_ms / 1_000 if self._failures else None
        tasks = [asyncio.ensure_future(moved), asyncio.ensure_future(ended)]
        try:
            await asyncio.wait(tasks, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if tasks[1].done():
                raise UnavailableError("the broker has gone")
        finally:
            for task in tasks:
                task.cancel()

    async def _round(self, image: MetadataImage, seen: BrokerView) -> None:
        await self._tell_partitions(image, seen)
        await self._tell_stops(image, seen.stops)
        configs = self._configs(image)
        update = view_requests.update_metadata(image, seen, self._sender, configs)
        response = await self._connection.request(
            update, UpdateMetadataResponse, is_large=seen.is_full
        )
        self._check(response.error_code)

    async def _tell_partitions(self, image: MetadataImage, seen: BrokerView) -> None:
        keys = seen.partitions | self._failures.states.keys()
        if not keys and not seen.is_full:
            return
        created, configs = image.partition_created, self._configs(image)
        make = partial(
            view_requests.leader_and_isr,
            *(image, keys, self._sender, created, configs),
            full=seen.is_full,
        )
        response = await self._connection.request(
            await in_thread(make) if seen.is_full else make(),
            LeaderAndIsrResponse,
            timeout_s=REQUEST_TIMEOUT_S + len(keys) * _PARTITION_TIMEOUT_S,
            is_large=seen.is_full,
        )
        self._check(response.error_code)
        failed = _failed(response.partitions)
        if failed:
            topic_id, partition = min(failed)
            log.warning(
                "broker %d did not take %d partitions over, one: partition %d of topic %s",
                self._sender.broker_id,
                len(failed),
                partition,
                uuid_text(topic_id),
            )
        self._failures.states = _again(self._failures.states, failed)

    def _configs(self, image: MetadataImage) -> tuple[BrokerConfig, ...]:
        static = self._service.settings.static_configs
        return broker_configs(image, self._sender.broker_id, static)

    async def _tell_stops(self, image: MetadataImage, stops: Iterable[Stop]) -> None:
        tracked = broker_view.tracked_deletions(image, self._sender.broker_id)
        wanted = dict.fromkeys((*stops, *self._failures.stops))
        failed: set[PartitionKey] = set()
        for request in view_requests.stop_replicas(wanted, self._sender):
            response = await self._connection.request(request, StopReplicaResponse)
            self._check(response.error_code)
            failed |= _failed(response.partitions)
        again = [stop for stop in wanted if stop.key in failed and stop.key not in tracked]
        self._failures.stops = _again(self._failures.stops, again)
        await self._report(sorted(tracked), failed)

    async def _report(self, tracked: list[PartitionKey], failed: set[PartitionKey]) -> None:
        """Write to the log which replica deletions on the broker succeeded, and which failed.

        Args:
            tracked: All replicas that the broker was told to delete.
            failed: The replicas whose deletion failed; they are ineligible until the deletion is
                retried.
        """
        reports = (
            ReplicaReport(topic_id=i, partition_id=n, deleted=(i, n) not in failed)
            for i, n in tracked
        )
        origin = broker_origin(self._sender.broker_id, self._caller, "report deletions")
        while some := tuple(islice(reports, ITEMS_MAX)):
            request = ReportDeletions(
                broker_id=self._sender.broker_id,
                broker_epoch=self._sender.broker_epoch,
                replicas=some,
            )
            await self._service.run("report deletions", request, caller=self._caller, origin=origin)

    def _check(self, error_code: int) -> None:
        """Raise RequestError if the broker's response has an error, such as an outdated epoch."""
        if error_code != NONE:
            raise RequestError(
                name_of(error_code), f"broker {self._sender.broker_id} refused an update"
            )


def broker_origin(broker_id: int, caller: Caller, command: str) -> Origin:
    """Return the origin of a broker's request, to be stored in the log."""
    client = caller.address
    if caller.principal != ANONYMOUS:
        client = f"{caller.principal} at {client}"
    return Origin(principal=f"broker:{broker_id}", command=command, client=client)


def _is_current(image: MetadataImage, request: FollowLogRequest) -> bool:
    broker = image.broker(request.broker_id)
    return broker is not None and broker.broker_epoch == request.broker_epoch


def _failed(results: Iterable[ReplicaResult]) -> set[PartitionKey]:
    return {(r.topic_id, r.partition) for r in results if r.error_code != NONE}


def _again(tried: dict[T, int], failed: Iterable[T]) -> dict[T, int]:
    """Return the failed items and their numbers of attempts; drop items that failed too often."""
    counted = {item: tried.get(item, 0) + 1 for item in failed}
    return {item: count for item, count in counted.items() if count <= RETRIES_MAX}
