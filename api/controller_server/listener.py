"""The controller's Kafka listener: turns requests into decisions, and results into responses."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from api.broker.fencing import NoReplicas
from api.broker.producer_ids import ProducerIds
from api.broker.records_requests import RecordsRequests
from api.broker.stale_folders import now_ms
from api.controller_server.broker_feed import RETRY_MS, BrokerFeeds
from api.controller_server.broker_requests import BrokerRequests
from api.controller_server.cluster_requests import ClusterRequests, feature_levels, topic_name
from api.controller_server.form_reader import FormReader
from api.controller_server.forwarded_requests import (
    AskAgain,
    Forwarded,
    answered,
    answering,
    forwarded_id,
)
from api.controller_server.observer_requests import ObserverRequests, is_by_broker
from api.controller_server.voter_announcement import VoterAnnouncement
from api.kafka import (
    apis,
    configs,
    features,
    groups,
    partition_removal,
    quorum,
    run_command,
    topics,
)
from api.kafka.apis import Api, by_key
from api.kafka.dispatch import DispatchTable, Handler
from api.kafka.envelopes import is_own_question, is_question, opened, response_in_envelope
from api.kafka.errors import CODES, code_for
from api.kafka.fields import Request, Response
from api.kafka.frames import RequestFrame, encode_body
from api.kafka.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from api.kafka.messages.envelope import EnvelopeRequest, EnvelopeResponse
from api.kafka.messages.features import UpdateFeaturesRequest
from api.kafka.messages.metadata import MetadataRequest
from api.kafka.messages.quorum import DescribeQuorumRequest
from api.kafka.messages.topics import (
    CreateTopicsRequest,
    DeletePartitionsRequest,
    DeleteTopicsRequest,
    RunCommandRequest,
    RunCommandResponse,
)
from api.kafka.metadata import ImageCluster, asks_for_all, metadata_response
from api.kafka.request_order import Turn
from api.kafka.translations import TRANSLATIONS, Translation
from api.large_work import beside
from api.requests.wire_requests import WireRequest
from api.security.listeners import LOCAL, ListenerAddress
from api.service.service import Service
from api.service.session import Session
from controller.authorization.authorizer import ALLOW_ALL, CLUSTER, Operation
from controller.authorization.caller import Caller
from controller.turns_for_others import leave_turns
from records.errors import RequestError, UnavailableError

Q = TypeVar("Q", bound=Request)

REQUEST_SIZE_BYTES_MAX = 16 * 1024 * 1024
"""Size limit of a request: larger than any whose records fit into a batch of the log (8 MiB)."""

TOPICS_AT_ONCE = 500
"""Topics that a Metadata request looks up in the event loop (10 ms); more are left to a thread."""

RESOURCES_A_TURN = 50
"""Resources described (in about 10 ms) before other requests get their turn."""

FROM_BROKERS = frozenset(
    {
        apis.BROKER_REGISTRATION,
        apis.BROKER_HEARTBEAT,
        apis.ALTER_PARTITION,
        apis.ASSIGN_REPLICAS_TO_DIRS,
        apis.ALLOCATE_PRODUCER_IDS,
        apis.ENVELOPE,
        apis.FOLLOW_LOG,
    }
)
"""Requests that only brokers send."""

UNLIMITED = frozenset({apis.ALTER_PARTITION})
"""Requests with any number of items, which are decided in parts: all partitions of a broker may
change at once."""


class ListenerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the listener.

    Attributes:
        strict_modes: True: to clients that do not know modes, READ_ONLY partitions have no leader.
        retry_ms: Delay before partitions that failed on a broker are retried.
        controller_listener: Name by which brokers of Kafka find this listener among the voters in
            the log; None: there are none, unless the log has some.
    """

    strict_modes: bool = False
    retry_ms: int = RETRY_MS
    controller_listener: str | None = None


class ControllerListener:
    """Answers Kafka requests for one service."""

    def __init__(self, service: Service, settings: ListenerSettings) -> None:
        self._service = service
        self._settings = settings
        # Answers about all topics: in a large cluster each takes seconds, during which decisions
        # must not wait, and hundreds of MB, so there is one at a time.
        self._form = FormReader(lambda: service.directory)
        self._voters = VoterAnnouncement(service, settings.controller_listener)
        self._all_topics = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata")

    def stop(self) -> None:
        """Stop reading the log for observers; called when the listeners are closed."""
        self._form.stop()

    def dispatch_table(self, address: ListenerAddress = LOCAL) -> DispatchTable:
        """Return the handlers for a listener with this address."""
        access = self._service.access
        no_replicas = NoReplicas(partial(topic_name, self._service))
        feeds = BrokerFeeds(self._service, retry_ms=self._settings.retry_ms)
        records = RecordsRequests(no_replicas, access).handlers()
        observers = ObserverRequests(
            self._service, self._form, self._voters, address, records[apis.FETCH]
        )
        return DispatchTable(
            handlers={
                **records,
                **observers.handlers(),
                **ProducerIds(_no_producer_ids, access).handlers(),
                **groups.handlers(access, lambda: ImageCluster(self._service.image).nodes(address)),
                apis.METADATA: partial(self._metadata, address),
                **self._forwardable(),
                apis.ENVELOPE: self._envelope,
                **BrokerRequests(self._service).handlers(),
            },
            takeovers={apis.FOLLOW_LOG: feeds.feed},
            is_from_broker=lambda frame: frame.api in FROM_BROKERS or is_by_broker(frame),
            is_question=_may_be_left,
            turn=_turn,
            features=partial(feature_levels, self._service),
            frame_size_bytes_max=REQUEST_SIZE_BYTES_MAX,
            unlimited=UNLIMITED,
        )

    def _forwardable(self) -> dict[Api, Handler]:
        """Return the handlers of client requests, sent directly or forwarded by a broker."""
        return {
            apis.CREATE_TOPICS: self._create_topics,
            apis.DELETE_TOPICS: self._delete_topics,
            apis.DELETE_PARTITIONS: self._delete_partitions,
            apis.DESCRIBE_CONFIGS: self._describe_configs,
            apis.UPDATE_FEATURES: self._update_features,
            apis.DESCRIBE_QUORUM: self._describe_quorum,
            **ClusterRequests(self._service, strict_modes=self._settings.strict_modes).handlers(),
            apis.RUN_COMMAND: self._run_command,
            **{api: self._translated(translation) for api, translation in TRANSLATIONS.items()},
        }

    async def _envelope(self, frame: RequestFrame, caller: Caller) -> Response:
        """Answer the request in an envelope, on behalf of the client named in the envelope.

        The request is refused if the forwarding broker lacks the right CLUSTER_ACTION, and by a
        node that does not lead: the broker then asks the one that does.
        """
        if not self._service.is_active:
            return EnvelopeResponse(error_code=CODES["NOT_CONTROLLER"])
        handlers = self._forwardable()
        try:
            self._service.access(caller).require(Operation.CLUSTER_ACTION, CLUSTER)
            envelope = partial(opened, _body(frame, EnvelopeRequest), by_key(handlers), caller)
            inner, client = await beside(len(frame.raw), envelope)
        except RequestError as error:
            return EnvelopeResponse(error_code=code_for(error))
        before = self._service.image.provenance.next_offset
        forwarded = Forwarded(_body(frame, EnvelopeRequest).request_id)
        try:
            with answering(forwarded):
                body = await handlers[inner.api](inner, client)
        except AskAgain as again:
            return EnvelopeResponse(error_code=again.error_code)
        assert body is not None
        after = self._service.image.provenance.next_offset
        committed = after - 1 if after > before else forwarded.committed_offset
        response = partial(response_in_envelope, inner, body, committed_offset=committed)
        return await beside(len(frame.raw), response)

    async def _run(self, command: str, request: Any, caller: Caller) -> Any:
        """Run a command and return its response."""
        origin = replace(caller.origin(command), request_id=forwarded_id())
        running = self._service.run(command, request, caller=caller, origin=origin)
        return (await answered(running)).response

    def _translated(self, translation: Translation) -> Handler:
        """Return a handler that runs the command for a Kafka request.

        It translates the request to the command, and the command's response to Kafka's.
        """

        async def handle(frame: RequestFrame, caller: Caller) -> Response:
            try:
                self._check_enabled(translation)
                request = translation.request(frame.body)
                response = await self._run(translation.command, request, caller)
            except RequestError as error:
                return translation.refused(frame.body, error)
            return translation.response(response)

        return handle

    def _check_enabled(self, translation: Translation) -> None:
        """Refuse ACL requests if no authorizer uses ACLs, as Kafka does."""
        if translation.needs_authorizer and self._service.settings.authorizer is ALLOW_ALL:
            raise RequestError(
                "SECURITY_DISABLED", "this service uses no ACLs; start it with --authorizer acl"
            )

    async def _metadata(
        self, address: ListenerAddress, frame: RequestFrame, caller: Caller
    ) -> Response | bytes:
        request = _body(frame, MetadataRequest)
        respond = partial(
            metadata_response,
            ImageCluster(self._service.image),
            request,
            version=frame.version,
            cluster_id=self._service.settings.cluster_id,
            access=self._service.access(caller),
            strict=self._settings.strict_modes,
            listener=address,
        )
        is_small = len(request.topics or ()) <= TOPICS_AT_ONCE
        if is_small and not asks_for_all(request, frame.version):
            return respond()
        loop = asyncio.get_running_loop()
        encoded = partial(_encoded, frame, respond)
        return await loop.run_in_executor(self._all_topics, encoded)

    async def _create_topics(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, CreateTopicsRequest)
        try:
            results = await self._run("topics create", topics.creation(request), caller)
        except RequestError as error:
            return topics.creation_refused(request, error)
        return topics.creation_response(results)

    async def _delete_topics(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, DeleteTopicsRequest)
        wanted = topics.deletion(request)
        before = self._service.access(caller)
        try:
            results = await self._run("topics delete", wanted, caller)
        except RequestError as error:
            return topics.deletion_refused(request, error)
        return topics.deletion_response(wanted.topics, results, before)

    async def _delete_partitions(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, DeletePartitionsRequest)
        try:
            results = await self._run(
                "partitions delete", partition_removal.command(request), caller
            )
        except RequestError as error:
            return partition_removal.refused(error)
        return partition_removal.response_of(results, request)

    async def _describe_configs(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, DescribeConfigsRequest)
        results = []
        for number, each in enumerate(request.resources, 1):
            results.append(await self._configs(request, each, caller))
            if number % RESOURCES_A_TURN == 0:
                await leave_turns()  # an answer that is known at once gives no turn to others
        return DescribeConfigsResponse(results=tuple(results))

    async def _configs(
        self, request: DescribeConfigsRequest, resource: DescribeConfigsResource, caller: Caller
    ) -> DescribeConfigsResult:
        try:
            found = await self._run("configs explain", configs.question(resource), caller)
        except RequestError as error:
            return configs.not_described(resource, error)
        return configs.described(request, resource, found)

    async def _update_features(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, UpdateFeaturesRequest)
        try:
            await self._run("features update", features.update(request), caller)
        except RequestError as error:
            return features.update_refused(error)
        return features.update_response(request)

    async def _describe_quorum(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, DescribeQuorumRequest)
        try:
            found = await self._run("brokers list", quorum.question(request), caller)
        except RequestError as error:
            return quorum.refused(error)
        return quorum.described(
            request,
            found,
            node_id=self._service.settings.node_id,
            leader_epoch=self._service.controller_epoch,
            end_offset=self._service.image.provenance.next_offset,
            now_ms=now_ms(),
        )

    async def _run_command(self, frame: RequestFrame, caller: Caller) -> Response:
        request = _body(frame, RunCommandRequest)
        session = Session(self._service, caller)
        try:
            answer = await answered(
                session.run_wire(
                    WireRequest(
                        command=request.command,
                        request=request.payload,
                        reason=request.reason,
                        request_id=forwarded_id()
                        if request.request_id is None
                        else request.request_id,
                        trace_parent=request.trace_parent,
                        principal=request.principal,
                        point=request.point,
                        cursor=request.cursor,
                        min_offset=None if request.min_offset < 0 else request.min_offset,
                        consistent=request.consistent,
                    )
                )
            )
        except RequestError as error:
            return run_command.refused(error)
        return RunCommandResponse(
            end_offset=answer.end_offset,
            payload=answer.response,
            wrote=answer.wrote,
            about=answer.about,
            cursor=answer.cursor,
            versions=answer.versions,
        )


def _may_be_left(frame: RequestFrame) -> bool:
    """True if a request only reads: it may be abandoned once the client has gone."""
    return frame.api in (apis.FETCH, apis.FETCH_SNAPSHOT) or is_question(frame)


def _turn(frame: RequestFrame) -> Turn:
    """Return when a request may begin, relative to others of its connection.

    The controller decides on commands in the order in which they begin, and one sync serves many.
    The requests of brokers are independent of each other: each envelope is of another client, and
    a heartbeat must not wait for an envelope.
    """
    if is_own_question(frame):
        return Turn.ASIDE
    if frame.api == apis.RUN_COMMAND or frame.api in FROM_BROKERS:
        return Turn.TOGETHER
    return Turn.ALONE


async def _no_producer_ids() -> range:
    """Refuse to allocate producer ids; clients get these from brokers, not from the controller.

    Raises:
        UnavailableError: always.
    """
    raise UnavailableError("producer ids are given by brokers, not by the controller; ask a broker")


def _encoded(frame: RequestFrame, respond: Callable[[], Response]) -> bytes:
    return encode_body(frame.api, frame.version, respond())


def _body(frame: RequestFrame, cls: type[Q]) -> Q:
    assert isinstance(frame.body, cls), frame.api
    return frame.body
