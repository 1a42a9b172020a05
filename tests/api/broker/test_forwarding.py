"""What a broker passes on to the controller: the same bytes there and back, and its refusals."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.broker.fencing import NoReplicas
from api.broker.forwarding import FORWARDED, Forward, forwarding_handlers
from api.broker.records_requests import RecordsRequests
from api.client import MetadataClient
from api.controller_server.listener import FROM_BROKERS, ControllerListener, ListenerSettings
from api.kafka import apis, frames
from api.kafka.connection import Connection
from api.kafka.fields import Request
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.listener import Answering, Listener
from api.kafka.messages.topics import (
    CreateTopicsResponse,
    DeleteTopicsResponse,
)
from api.kafka.topics import creation_request, deletion_request
from controller.decisions.partition_removal import DeletePartitions, TopicShrink
from controller.decisions.topics import CreateTopics, DeleteTopics, NewTopic
from metadata_log.log_reader import LogReader
from records.errors import MetadataLogError, RequestError, UnavailableError
from tests.api.kafka.servers import server

CREATION = creation_request(
    CreateTopics(topics=(NewTopic(name="orders", partitions=1, replication_factor=1),))
)


@contextlib.asynccontextmanager
async def broker(forward: Forward) -> AsyncIterator[int]:
    """A listener that forwards; yields its port."""
    answering = Answering(handlers=forwarding_handlers(forward))
    listener = await Listener.start(answering, "127.0.0.1", 0)
    yield listener.port
    await listener.close()


def refusing(error: MetadataLogError) -> Forward:
    async def forward(_: RequestFrame) -> bytes:
        raise error

    return forward


async def exchange(port: int, frame: bytes) -> bytes:
    """Send one frame and return the answer, without its length."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame)
    async with asyncio.timeout(20):
        (size,) = LENGTH.unpack(await reader.readexactly(4))
        answer = await reader.readexactly(size)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_request_and_response_keep_their_bytes_and_the_client_its_id() -> None:
    received = bytearray()

    async def controller(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.extend(await reader.readexactly(4))
        (size,) = LENGTH.unpack(received)
        received.extend(await reader.readexactly(size))
        body = b"\0\0\0\0\1\1\x63\2hi"  # nothing, and a tagged field that nobody knows
        number = received[8:12]
        writer.write(LENGTH.pack(5 + len(body)) + number + b"\0" + body)
        await reader.read()
        writer.close()

    # A tagged field of the request that nobody knows, either.
    plain = frames.encode_request(apis.CREATE_TOPICS, 7, 77, CREATION, "ann")
    sent = LENGTH.pack(len(plain) - 4 + 3) + plain[4:-1] + b"\1\x63\1x"
    async with await asyncio.start_server(controller, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        connection = await Connection.open("127.0.0.1", port, "broker-1")
        async with broker(connection.forward) as at:
            answer = await exchange(at, sent)
        await connection.close()
    assert received[:8] + received[12:] == sent[:8] + sent[12:]
    assert answer == (77).to_bytes(4, "big") + b"\0" + b"\0\0\0\0\1\1\x63\2hi"


async def test_forwarded_creation_is_decided_and_names_the_client(tmp_path: Path) -> None:
    async with server(tmp_path) as controller:
        await controller.register(1)
        forward = controller.client.connection.forward
        async with broker(forward) as port:
            url = f"kafka://127.0.0.1:{port}"
            async with await MetadataClient.connect(url, client_id="ann") as client:
                response = await client.connection.request(CREATION, CreateTopicsResponse)
                assert [topic.error_code for topic in response.topics] == [0]
                again = await client.connection.request(CREATION, CreateTopicsResponse)
                assert [topic.error_code for topic in again.topics] == [36]
    with LogReader.open(tmp_path / "log") as log:
        origins = [row.origin for batch in log.batches(1) for row in batch.rows]
    creation = next(o for o in origins if o is not None and o.command == "topics create")
    assert str(creation.client).startswith("ann at ")


async def test_whatever_clients_ask_of_the_controller_is_forwarded(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        settings = ListenerSettings()
        answering = ControllerListener(at.service, settings).answering()
    answered_by_brokers = {apis.METADATA, *RecordsRequests(NoReplicas()).handlers()}
    assert set(FORWARDED) == answering.handlers.keys() - FROM_BROKERS - answered_by_brokers


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestError("NOT_CONTROLLER", "the controller cannot be reached"), 41),
        (UnavailableError("no answer; the outcome is unknown"), 7),
    ],
)
async def test_controller_that_is_away_is_told_in_the_response(
    error: MetadataLogError, code: int
) -> None:
    async with broker(refusing(error)) as port:
        url = f"kafka://127.0.0.1:{port}"
        async with await MetadataClient.connect(url) as client:
            created = await client.connection.request(CREATION, CreateTopicsResponse)
            assert [topic.error_code for topic in created.topics] == [code]
            deletion: Request = deletion_request(DeleteTopics(topics=("orders", "carts")))
            deleted = await client.connection.request(deletion, DeleteTopicsResponse)
            assert [topic.error_code for topic in deleted.responses] == [code, code]
            shrink = DeletePartitions(topics=(TopicShrink(topic="orders", partitions=1),))
            with pytest.raises(RequestError) as refused:
                await client.delete_partitions(shrink)
            assert refused.value.code == ("NOT_CONTROLLER" if code == 41 else "REQUEST_TIMED_OUT")
            with pytest.raises(UnavailableError, match=str(error)):
                await client.run("brokers unregister", 7)
