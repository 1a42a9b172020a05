"""The limits of the listener: large frames, silent clients, places reserved for brokers."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.kafka import apis, frames
from api.kafka.connection import Connection
from api.kafka.dispatch import DispatchTable
from api.kafka.fields import Response
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.messages.brokers import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from api.security.listeners import ListenerSecurity
from api.security.tls import client_context, server_context
from api.transport import limits
from api.transport.connections import Connections
from controller.authorization.caller import Caller
from records.errors import UnavailableError
from tests.api.kafka.listeners import start_listener
from tests.certificates import Authority

SMALL = MetadataRequest(topics=())
LARGE = MetadataRequest(
    topics=tuple([MetadataRequestTopic(name=f"{number:0>200}") for number in range(1_000)])
)


def _is_heartbeat(frame: RequestFrame) -> bool:
    return frame.api == apis.BROKER_HEARTBEAT


class Node:
    """Answers heartbeats at once, and Metadata when the test allows it."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def metadata(self, _: RequestFrame, __: Caller) -> Response:
        self.begun += 1
        await self.may_answer.wait()
        return MetadataResponse()

    async def heartbeat(self, _: RequestFrame, __: Caller) -> Response:
        return BrokerHeartbeatResponse(is_fenced=False)

    def dispatch_table(self) -> DispatchTable:
        handlers = {apis.METADATA: self.metadata, apis.BROKER_HEARTBEAT: self.heartbeat}
        return DispatchTable(handlers=handlers, is_from_broker=_is_heartbeat)

    async def has_begun(self, count: int) -> None:
        """Wait until `count` requests are being answered."""
        async with asyncio.timeout(20):
            while self.begun < count:
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def listening(node: Node, **options: int) -> AsyncIterator[int]:
    """Listen while the body runs; yields the port."""
    listener = await start_listener(node.dispatch_table(), Connections(**options))
    yield listener.port
    await listener.close()


@contextlib.asynccontextmanager
async def client(port: int) -> AsyncIterator[Connection]:
    connection = await Connection.open("127.0.0.1", port, "test")
    yield connection
    await connection.close()


async def ask(connection: Connection, body: MetadataRequest = SMALL) -> MetadataResponse:
    return await connection.request(body, MetadataResponse)


async def beat(connection: Connection) -> BrokerHeartbeatResponse:
    body = BrokerHeartbeatRequest(broker_id=1, broker_epoch=1, current_metadata_offset=1)
    return await connection.request(body, BrokerHeartbeatResponse)


async def test_broker_gets_in_when_clients_have_taken_every_other_place() -> None:
    node = Node()
    node.may_answer.clear()
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(listening(node, places_max=8, broker_reserve=2))
        clients = [await stack.enter_async_context(client(port)) for _ in range(6)]
        waiting = [asyncio.ensure_future(ask(connection)) for connection in clients]
        await node.has_begun(6)
        broker = await stack.enter_async_context(client(port))
        assert (await beat(broker)).error_code == 0
        # A client gets a place of the reserve just to be turned away.
        one_more = await stack.enter_async_context(client(port))
        with pytest.raises(UnavailableError):
            await ask(one_more)
        # The connection is known as a broker's, whatever it asks next.
        node.may_answer.set()
        await asyncio.gather(*waiting, ask(broker))


async def test_large_requests_wait_for_memory_and_small_ones_do_not() -> None:
    node = Node()
    node.may_answer.clear()
    async with (
        listening(node, receive_bytes_max=300_000) as port,
        client(port) as first,
        client(port) as second,
        client(port) as third,
    ):
        large = [asyncio.ensure_future(ask(connection, LARGE)) for connection in (first, second)]
        await node.has_begun(1)
        small = asyncio.ensure_future(ask(third))
        await node.has_begun(2)
        await asyncio.sleep(0.1)
        assert node.begun == 2, "the second large request waits for the first one's answer"
        node.may_answer.set()
        await asyncio.gather(*large, small)
        assert node.begun == 3


async def test_half_frame_gives_its_memory_up_while_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SWEEP_S", 0.02)
    monkeypatch.setattr(limits, "STALL_TIMEOUT_S", 0.2)
    async with (
        listening(Node(), receive_bytes_max=300_000) as port,
        client(port) as honest,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(LENGTH.pack(250_000) + bytes(249_999))
        await writer.drain()
        # The first of these may come before the half frame.
        closed = asyncio.ensure_future(asyncio.wait_for(reader.read(), 20))
        while not closed.done():
            await ask(honest, LARGE)
        assert await closed == b""
        writer.close()


async def test_client_that_hangs_up_while_it_waits_for_memory_is_forgotten() -> None:
    node = Node()
    node.may_answer.clear()
    async with listening(node, receive_bytes_max=300_000) as port, client(port) as first:
        one = asyncio.ensure_future(ask(first, LARGE))
        await node.has_begun(1)
        async with client(port) as second:
            two = asyncio.ensure_future(ask(second, LARGE))
            await asyncio.sleep(0.05)
        with pytest.raises(UnavailableError):
            await two
        node.may_answer.set()
        await one
        # Its share was granted, and given back.
        async with asyncio.timeout(20):
            await ask(first, LARGE)
            while sum(t.get_name() == "kafka connection" for t in asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.005)


@pytest.mark.parametrize("limit", ["FIRST_REQUEST_TIMEOUT_S", "FRAME_TIMEOUT_S", "IDLE_TIMEOUT_S"])
async def test_client_that_keeps_silent_is_closed(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SWEEP_S", 0.02)
    monkeypatch.setattr(limits, limit, 0.2)
    frame = frames.encode_request(apis.METADATA, 9, 1, SMALL)
    said = {"FIRST_REQUEST_TIMEOUT_S": b"", "FRAME_TIMEOUT_S": b"\0\0", "IDLE_TIMEOUT_S": frame}
    async with listening(Node()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said[limit])
        await asyncio.wait_for(reader.read(), 20)
        writer.close()


async def test_clients_that_do_not_end_tls_do_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLOSE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(limits, "TLS_HANDSHAKE_TIMEOUT_S", 600.0)
    files = Authority(tmp_path).issue("server")
    security = ListenerSecurity(tls=server_context(files))
    listener = await start_listener(Node().dispatch_table(), security=security)
    address = ("127.0.0.1", listener.port)
    with socket.create_connection(address) as half, socket.create_connection(address) as plain:
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        wrap = client_context(files).wrap_socket
        with await asyncio.to_thread(wrap, plain, server_hostname="localhost") as other:
            other.sendall(frames.encode_request(apis.METADATA, 12, 0, SMALL, "idle"))
            assert await asyncio.to_thread(other.recv, 1)
            # Below the times that are allowed for both.
            async with asyncio.timeout(20):
                await listener.close()
