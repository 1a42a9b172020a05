"""The listeners that receive mutated requests, each with valid requests of all its keys."""

import contextlib
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import msgspec

from api.broker.controller_requests import ControllerRequests
from api.broker.disk import Disk
from api.broker.dispatch import broker_dispatch
from api.broker.log_dirs import LogDirsRequests
from api.broker.producer_ids import ProducerIds
from api.clients.client import MetadataClient
from api.kafka import apis
from api.kafka.apis import BY_REQUEST, Api
from api.kafka.connection import Connection
from api.kafka.dispatch import DispatchTable
from api.kafka.errors import check
from api.kafka.messages.producers import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.api.broker.forward_connection import through
from tests.api.broker.leader import Broker
from tests.api.guarded import guarded
from tests.api.kafka.listeners import start_listener
from tests.api.kafka.servers import Server
from tests.api.kafka.test_authorization import REQUESTS
from tests.api.kafka.test_sasl import secured
from tests.torture.frame_samples import (
    LOGIN_REQUESTS,
    broker_requests,
    samples,
    service_requests,
    stream_requests,
)

_LOGIN_SHARE = 20
"""How often each request of a login is among the samples for one: all others end the connection."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A listener, and the valid requests that are mutated for it."""

    name: str
    port: int
    samples: tuple[bytes, ...]


@contextlib.asynccontextmanager
async def targets_in(folder: Path, broken: list[str]) -> AsyncIterator[list[Target]]:
    """Run a service, one with SASL, a broker, and a broker's end of its controller's stream.

    Args:
        broken: Gets a line for each problem found at the end.
    """
    for name in ("plain", "sasl", "broker", "stream"):
        (folder / name).mkdir()
    async with (
        guarded(folder / "plain") as (at, _),
        secured(folder / "sasl", "SASL_PLAINTEXT://127.0.0.1:0") as asking,
        _broker(folder / "broker", at, broken) as (broker_port, taken),
        _stream(folder / "stream") as stream_port,
    ):
        whole = service_requests(at)
        by_broker = [
            request
            for request in (*broker_requests(folder / "broker" / "more"), *whole)
            if BY_REQUEST[type(request)] in taken
        ]
        before_login = samples(LOGIN_REQUESTS) * _LOGIN_SHARE
        yield [
            Target(name="service", port=at.port, samples=samples(whole)),
            Target(name="login", port=asking.kafka.port, samples=before_login + samples(whole)),
            Target(name="broker", port=broker_port, samples=samples(by_broker)),
            Target(name="stream", port=stream_port, samples=samples(stream_requests())),
        ]
        # A new one: a client that says nothing for a while after it has connected is hung up on.
        async with await MetadataClient.connect(f"kafka://127.0.0.1:{at.port}") as client:
            await client.metadata(())
        with LogReader.open(folder / "plain" / "log") as reader:
            if image_digest(load_image(reader)) != image_digest(at.service.image):
                broken.append("replay gives another image than the service has")


@contextlib.asynccontextmanager
async def _broker(
    folder: Path, at: Server, broken: list[str]
) -> AsyncIterator[tuple[int, Collection[Api]]]:
    """Run a broker that leads partitions and forwards to a service.

    Yields:
        Its port, and the requests that it accepts.
    """
    (folder / "more").mkdir()
    broker = Broker(folder / "one", None, folder / "more")
    await broker.lead()
    access = broker.authorization.access
    log_dirs = LogDirsRequests(broker.directories, broker.replicas, Disk(16), access)
    link = await Connection.open("127.0.0.1", at.port, "broker-1")
    allocation = REQUESTS[apis.ALLOCATE_PRODUCER_IDS](at)

    async def allocate() -> range:
        assert isinstance(allocation, AllocateProducerIdsRequest)
        block = await link.request(allocation, AllocateProducerIdsResponse)
        check(block.error_code, None)
        return range(block.producer_id_start, block.producer_id_start + block.producer_id_len)

    dispatch = broker_dispatch(
        "c",
        broker.cluster,
        broker.authorization,
        {
            **broker.requests.handlers(),
            **ProducerIds(allocate, access).handlers(),
            **log_dirs.handlers(),
        },
        through(link),
    )
    async with _listening(dispatch) as port:
        yield port, dispatch.apis().values()
        if not link.is_open:
            broken.append("a client's request has ended the connection that forwards")
    await link.close()
    await broker.replicas.close()


@contextlib.asynccontextmanager
async def _stream(folder: Path) -> AsyncIterator[int]:
    """Run the handlers with which a broker answers its controller, on a listener of their own."""
    broker = Broker(folder)
    requests = ControllerRequests(
        broker.replicas,
        broker.cluster,
        broker_epoch=lambda: 1,
        changed=lambda: None,
        configured=lambda _: None,
        update_rights=broker.authorization.update,
    )
    async with _listening(requests.dispatch_table()) as port:
        yield port
    await broker.replicas.close()


@contextlib.asynccontextmanager
async def _listening(dispatch: DispatchTable) -> AsyncIterator[int]:
    listener = await start_listener(dispatch)
    try:
        yield listener.port
    finally:
        await listener.close()
