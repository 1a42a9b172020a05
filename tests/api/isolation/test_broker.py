"""A broker's own listener shows a tenant nothing of another one.

Each cluster has a broker that leads every partition, in real folders. Requests that a broker does
not answer itself go to its controller in an envelope.
"""

import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.disk import Disk
from api.broker.dispatch import broker_dispatch
from api.broker.fencing import Fencing
from api.broker.log_directory import LogDirectory
from api.broker.records_requests import RecordsRequests
from api.broker.replicas import Replicas
from api.controller_server import view_requests
from api.controller_server.broker_view import BrokerView, Sender, changed_view, full_view
from api.controller_server.listener import ControllerListener, ListenerSettings
from api.kafka import apis, frames
from api.kafka.apis import Api, by_key
from api.kafka.dispatch import Handler
from api.kafka.envelopes import sealed
from api.kafka.fields import Request
from api.kafka.frames import RequestFrame
from api.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    ReplacedConfig,
    ReplacedResource,
)
from api.kafka.messages.configs import AlterConfigsRequest as ReplaceConfigsRequest
from api.kafka.messages.envelope import EnvelopeResponse
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from api.kafka.messages.record_deletions import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from api.kafka.messages.records_io import (
    NAMES_UNTIL,
    EpochPartition,
    EpochTopic,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
)
from api.kafka.messages.tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
)
from api.kafka.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    DeletePartitionsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    ShrinkingTopic,
)
from api.service.service import Service
from controller.authorization.acls import SUPER_USERS, AclAuthorizer
from controller.authorization.caller import Caller
from records.errors import RequestError
from replay.image.configs import NAMESPACE, TOPIC
from tests.api.broker.records import batch
from tests.api.isolation.pair import Pair, pair
from tests.api.isolation.requests import Asker
from tests.api.isolation.test_changes import BOTH_WAYS
from tests.api.isolation.worlds import CLUSTER_ID, Tenant

_ME = 1
_BROKER = Caller(principal="User:admin", client_id="broker-1")
_SIZE = 40


@dataclass(frozen=True)
class LocalBroker:
    """A broker in this process.

    Attributes:
        handlers: Its request handlers.
        rename: Carries out what the controller says first: the roles and names of replicas.
        update: Carries out what it says then: the metadata of the cluster, and the rights.
    """

    handlers: Mapping[Api, Handler]
    rename: Callable[[], Awaitable[None]]
    update: Callable[[], None]

    async def answer(self, frame: RequestFrame, caller: Caller) -> object:
        """Return the answer to a request."""
        return await self.handlers[frame.api](frame, caller)


@contextlib.asynccontextmanager
async def local_broker(service: Service, directory: Path) -> AsyncIterator[LocalBroker]:
    """A broker that leads all partitions of a cluster."""
    sender = Sender(controller_id=3000, controller_epoch=1, broker_id=_ME, broker_epoch=1)
    view = full_view(service.image, sender)
    authorization = Authorization(AclAuthorizer.of({SUPER_USERS: "User:admin"}))
    cluster, disk = Cluster(), Disk(1_000)
    log_directory = LogDirectory.open(directory, cluster_id=CLUSTER_ID, broker_id=_ME)
    replicas = Replicas(_ME, [log_directory], disk)

    def changed() -> BrokerView:
        change = service.history.since(cluster.metadata_offset)
        assert change is not None
        return changed_view(change, sender)

    def update(seen: BrokerView | None = None) -> None:
        request = view_requests.update_metadata(service.image, seen or changed(), sender)
        authorization.update(request)
        cluster.update(request)

    async def rename(seen: BrokerView | None = None) -> None:
        seen = seen or changed()
        request = view_requests.leader_and_isr(
            service.image, seen.partitions, sender, lambda *_: 0, full=seen.is_full
        )
        await replicas.take_over(request)

    update(view)
    await rename(view)
    controller = ControllerListener(service, ListenerSettings()).dispatch_table().handlers

    async def forward(frame: RequestFrame, caller: Caller) -> bytes:
        envelope = framed(apis.ENVELOPE, sealed(frame, caller))
        answer = await controller[apis.ENVELOPE](envelope, _BROKER)
        assert isinstance(answer, EnvelopeResponse)
        assert answer.response_data is not None
        return frames.raw_response_body(answer.response_data, frame.api, frame.version)

    records = RecordsRequests(Fencing(replicas, cluster), authorization.access)
    dispatch = broker_dispatch(CLUSTER_ID, cluster, authorization, records.handlers(), forward)
    try:
        handlers = {api: h for api, h in dispatch.handlers.items() if api is not apis.RUN_COMMAND}
        yield LocalBroker(handlers, rename, update)
    finally:
        await replicas.close()
        disk.close()


def framed(api: Api, body: Request, version: int | None = None) -> RequestFrame:
    version = api.max_version if version is None else version
    raw = frames.encode_request(api, version, 7, body, "x")[frames.LENGTH.size :]
    return frames.decode_request(raw, by_key(apis.ALL))


@contextlib.asynccontextmanager
async def _brokers(both: Pair, directory: Path) -> AsyncIterator[list[LocalBroker]]:
    async with contextlib.AsyncExitStack() as running:
        yield [
            await running.enter_async_context(local_broker(service, directory / str(number)))
            for number, service in enumerate(both.services)
        ]


@BOTH_WAYS
async def test_random_requests_of_a_broker_tell_nothing_of_another_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    rng = random.Random(3)
    asker = Asker(asking, other, rng)
    async with (
        pair(tmp_path, monkeypatch, asking, other) as both,
        _brokers(both, tmp_path / "brokers") as brokers,
    ):
        for api in brokers[0].handlers:
            for _ in range(_SIZE):
                frame = random_frame(api, asker, rng)
                here, there = [await each.answer(frame, asking.caller) for each in brokers]
                assert here == there, frame


def random_frame(api: Api, asker: Asker, rng: random.Random) -> RequestFrame:
    """Return a random request, in a version that has all the fields that are set."""
    while True:
        version = rng.randint(api.min_version, api.max_version)
        with contextlib.suppress(RequestError):
            return framed(api, asker.request(api.request), version)


@BOTH_WAYS
async def test_requests_of_kafkas_clients_that_succeed_tell_nothing_of_another_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> None:
    async with (
        pair(tmp_path, monkeypatch, asking, other) as both,
        _brokers(both, tmp_path / "brokers") as brokers,
    ):
        for request in _succeeding(asking):
            api = apis.BY_REQUEST[type(request)]
            # The tenant knows its topics by their names.
            by_name = NAMES_UNTIL if api in (apis.PRODUCE, apis.FETCH) else None
            frame = framed(api, request, by_name)
            here, there = [await each.answer(frame, asking.caller) for each in brokers]
            both.check(here, there)
            if isinstance(here, bytes):
                here = frames.decode_response(b"\0" * 5 + here, api, frame.version)
            assert not _codes(here), (request, here)


def _succeeding(tenant: Tenant) -> list[Request]:
    """Return a request of every API that a tenant may use, in an order in which they succeed."""
    name = tenant.name
    topic, new = f"{name}:orders", f"{name}:new"
    return [
        MetadataRequest(topics=None),
        MetadataRequest(topics=(MetadataRequestTopic(name=topic),)),
        ProduceRequest(
            acks=1,
            timeout_ms=1_000,
            topic_data=(
                ProducedTopic(
                    name=topic,
                    partition_data=(ProducedPartition(index=0, records=batch(b"v")),),
                ),
            ),
        ),
        FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            topics=(
                FetchTopic(
                    topic=topic,
                    partitions=(
                        FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000),
                    ),
                ),
            ),
        ),
        ListOffsetsRequest(
            topics=(
                ListOffsetsTopic(
                    name=topic,
                    partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),),
                ),
            )
        ),
        DeleteRecordsRequest(
            timeout_ms=1_000,
            topics=(
                DeleteRecordsTopic(
                    name=topic,
                    partitions=(DeleteRecordsPartition(partition_index=0, offset=1),),
                ),
            ),
        ),
        OffsetForLeaderEpochRequest(
            topics=(
                EpochTopic(topic=topic, partitions=(EpochPartition(partition=0, leader_epoch=0),)),
            )
        ),
        CreateTopicsRequest(
            topics=(CreatableTopic(name=new, num_partitions=2, replication_factor=1),)
        ),
        DescribeConfigsRequest(
            resources=tuple(
                [
                    DescribeConfigsResource(resource_type=type_, resource_name=resource)
                    for type_, resource in ((TOPIC, topic), (NAMESPACE, name))
                ]
            ),
            include_synonyms=True,
        ),
        IncrementalAlterConfigsRequest(
            resources=(
                AlterableResource(
                    resource_type=TOPIC,
                    resource_name=topic,
                    configs=(AlterableConfig(name="retention.ms", config_operation=0, value="5"),),
                ),
            )
        ),
        ReplaceConfigsRequest(
            resources=(
                ReplacedResource(
                    resource_type=TOPIC,
                    resource_name=topic,
                    configs=(ReplacedConfig(name="flush.ms", value="5"),),
                ),
            )
        ),
        CreateDelegationTokenRequest(),
        DescribeDelegationTokenRequest(),
        DeletePartitionsRequest(topics=(ShrinkingTopic(name=new, partitions=1),)),
        DeleteTopicsRequest(topics=(DeleteTopicState(name=topic),)),
    ]


def _codes(response: object) -> list[int]:
    """Return the error codes in a response that are errors."""
    if isinstance(response, tuple):
        return [code for item in response for code in _codes(item)]
    fields = getattr(response, "__struct_fields__", ())
    inner = [code for field in fields for code in _codes(getattr(response, field))]
    code = getattr(response, "error_code", 0)
    return [code, *inner] if code else inner
