"""Requests that a broker forwards to the controller: bytes unchanged in both directions; errors."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.broker.fencing import NoReplicas
from api.broker.forwarding import FORWARDED, Forward, forwarding_handlers
from api.broker.records_requests import RecordsRequests
from api.clients.client import MetadataClient
from api.controller_server.listener import FROM_BROKERS, ControllerListener, ListenerSettings
from api.kafka import apis, frames, groups
from api.kafka.apis import BY_REQUEST, by_key
from api.kafka.connection import Connection
from api.kafka.dispatch import DispatchTable
from api.kafka.envelopes import opened, sealed
from api.kafka.fields import Request, Response
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.messages.envelope import EnvelopeRequest, EnvelopeResponse
from api.kafka.messages.metadata import MetadataRequest
from api.kafka.messages.topics import (
    CreateTopicsResponse,
    DeleteTopicsResponse,
)
from api.kafka.topics import creation_request, deletion_request
from api.security.listeners import ListenerAddress
from controller.authorization.authorizer import CLUSTER, UNRESTRICTED, Operation, topic_resource
from controller.authorization.caller import Authentication, Caller
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from metadata_log.reader.log_reader import LogReader
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError
from tests.api.broker.forward_connection import through
from tests.api.broker.test_clean_end import running
from tests.api.guarded import guarded, nothing_written
from tests.api.kafka.listeners import start_listener
from tests.api.kafka.servers import server

CREATION = creation_request(
    CreateTopics(topics=(NewTopic(name="orders", partitions=1, replication_factor=1),))
)


@contextlib.asynccontextmanager
async def broker(forward: Forward) -> AsyncIterator[int]:
    """A listener that forwards requests; yields its port."""
    dispatch = DispatchTable(handlers=forwarding_handlers(forward))
    listener = await start_listener(dispatch)
    yield listener.port
    await listener.close()


def refusing(error: MetadataLogError) -> Forward:
    async def forward(_: RequestFrame, __: Caller) -> bytes:
        raise error

    return forward


async def exchange(port: int, frame: bytes) -> bytes:
    """Send one frame; return the response without its length prefix."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame)
    async with asyncio.timeout(60):
        (size,) = LENGTH.unpack(await reader.readexactly(4))
        answer = await reader.readexactly(size)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_request_and_response_keep_their_bytes_and_the_client_its_id() -> None:
    envelopes: list[EnvelopeRequest] = []
    body = b"\0\0\0\0\1\1\x63\2hi"  # nothing, and a tagged field that nobody knows

    async def controller(frame: RequestFrame, _: Caller) -> Response:
        assert isinstance(frame.body, EnvelopeRequest)
        assert frame.client_id == "broker-1"
        envelopes.append(frame.body)
        number = frame.body.request_data[4:8]
        return EnvelopeResponse(response_data=number + b"\0" + body)

    # A tagged field of the request that nobody knows, either.
    plain = frames.encode_request(apis.CREATE_TOPICS, 7, 77, CREATION, "ann")
    sent = LENGTH.pack(len(plain) - 4 + 3) + plain[4:-1] + b"\1\x63\1x"
    listener = await start_listener(DispatchTable(handlers={apis.ENVELOPE: controller}))
    connection = await Connection.open("127.0.0.1", listener.port, "broker-1")
    async with broker(through(connection)) as at:
        answer = await exchange(at, sent)
    await connection.close()
    await listener.close()
    (envelope,) = envelopes
    assert envelope.request_data == sent[4:]
    assert envelope.request_principal == b"\0\0" + b"\x05User" + b"\x0aANONYMOUS" + b"\0\0"
    assert envelope.client_host_address == bytes([127, 0, 0, 1])
    assert answer == (77).to_bytes(4, "big") + b"\0" + body


@pytest.mark.parametrize("principal", ["User:ann", "User:CN=a:b,O=c", "Group:ünï", "User:"])
@pytest.mark.parametrize("host", ["10.0.0.7", "fe80::1", None])
def test_envelope_names_the_client_and_who_forwards_it(principal: str, host: str | None) -> None:
    frame = _frame(CREATION)
    through = Caller(principal="User:b", client_id="broker-1", host="10.0.0.2", port=5)
    envelope = sealed(frame, Caller(principal=principal, host=host, port=5))
    inner, caller = opened(envelope, by_key(FORWARDED), through)
    assert (inner.raw, inner.body) == (frame.raw, CREATION)
    assert (caller.principal, caller.client_id, caller.host) == (principal, "script", host)
    assert caller.forwarded_by == through
    assert caller.authentication is Authentication.FORWARDED


def _frame(body: Request) -> RequestFrame:
    api = BY_REQUEST[type(body)]
    raw = frames.encode_request(api, api.max_version, 7, body, "script")[4:]
    return frames.decode_request(raw, by_key(apis.ALL))


_SEALED = sealed(_frame(CREATION), Caller())


@pytest.mark.parametrize(
    ("envelope", "said"),
    [
        (replace(_SEALED, request_principal=None), "names no principal"),
        (replace(_SEALED, request_principal=b"\0"), "principal cannot be read"),
        (replace(_SEALED, request_principal=b"\0\0\x05Us"), "principal cannot be read"),
        (replace(_SEALED, request_principal=b"\0\1\1\1\0\0"), "has version 1, not 0"),
        (replace(_SEALED, client_host_address=b"123"), "a forwarded address"),
        (replace(_SEALED, request_data=b"\0"), "too short for its header"),
        (sealed(_frame(MetadataRequest()), Caller()), "key 3 are not supported here"),
        (sealed(_frame(_SEALED), Caller()), "key 58 are not supported here"),
    ],
)
def test_envelope_that_cannot_be_opened_is_refused(envelope: EnvelopeRequest, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        opened(envelope, by_key(FORWARDED), Caller())


@contextlib.asynccontextmanager
async def forwarded(directory: Path) -> AsyncIterator[tuple[Path, MetadataClient]]:
    """A client of a real broker; yields the controller's log too."""
    async with (
        running(directory) as ready,
        await MetadataClient.connect(f"kafka://{ready.listen}", client_id="script") as client,
    ):
        yield directory / "log", client


async def test_client_of_a_broker_stands_in_the_log_beside_the_broker(tmp_path: Path) -> None:
    async with forwarded(tmp_path) as (log, client):
        await client.run("namespaces create", CreateNamespace("n"), trace_parent="00-1")
        found = _origin_of(log, "namespaces create")
    assert (found.principal, found.trace_parent) == ("User:ANONYMOUS", "00-1")
    assert re.fullmatch(
        r"script at 127\.0\.0\.1 through User:ANONYMOUS by broker-1 at 127\.0\.0\.1:\d+",
        str(found.client),
    )


async def test_broker_forwards_plainly_to_a_controller_that_takes_no_envelopes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatch = ControllerListener.dispatch_table

    def without_envelopes(self: ControllerListener, *address: ListenerAddress) -> DispatchTable:
        found = dispatch(self, *address)
        handlers = {api: h for api, h in found.handlers.items() if api != apis.ENVELOPE}
        return replace(found, handlers=handlers)

    monkeypatch.setattr(ControllerListener, "dispatch_table", without_envelopes)
    async with forwarded(tmp_path) as (log, client):
        await client.run("namespaces create", CreateNamespace("n"))
        found = _origin_of(log, "namespaces create")
    assert re.fullmatch(r"script at 127\.0\.0\.1:\d+", str(found.client))


def _origin_of(log: Path, command: str) -> Origin:
    with LogReader.open(log) as reader:
        origins = [row.origin for batch in reader.batches(1) for row in batch.rows]
    return next(o for o in origins if o is not None and o.command == command)


async def test_broker_without_the_right_to_forward_is_refused(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.but = {(Operation.CLUSTER_ACTION, CLUSTER)}
        async with (
            broker(through(at.client.connection)) as port,
            await MetadataClient.connect(f"kafka://127.0.0.1:{port}") as client,
        ):
            with nothing_written(at), pytest.raises(RequestError) as caught:
                await client.run("namespaces create", CreateNamespace("n"))
    assert "CLUSTER_AUTHORIZATION_FAILED" in str(caught.value)
    assert caught.value.code == "UNKNOWN_SERVER_ERROR"
    assert caught.value.outcome is Outcome.NOTHING


async def test_forwarded_request_is_authorized_as_its_client_item_by_item(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(Operation.CLUSTER_ACTION, CLUSTER), (Operation.DELETE, topic_resource("a"))}
        rights.asked.clear()
        ann = Caller(principal="User:ann", host="10.0.0.7")
        frame = _frame(deletion_request(DeleteTopics(topics=("a", "b"))))
        connection = at.client.connection
        response = await connection.request(sealed(frame, ann), EnvelopeResponse)
        assert response.response_data is not None
        deleted = frames.decode_response(response.response_data, frame.api, frame.version)
        assert isinstance(deleted, DeleteTopicsResponse)
        assert [topic.error_code for topic in deleted.responses] == [0, 29]
        (opening, *items) = rights.asked
        assert (opening[0].principal, opening[1]) == ("User:ANONYMOUS", Operation.CLUSTER_ACTION)
        assert {caller.principal for caller, _, _ in items} == {"User:ann"}
    origin = _origin_of(tmp_path / "log", "topics delete")
    assert origin.principal == "User:ann"
    assert str(origin.client).startswith("script at 10.0.0.7 through User:ANONYMOUS by metalog at ")


async def test_forwarded_creation_is_decided_and_names_the_client(tmp_path: Path) -> None:
    async with server(tmp_path) as controller:
        await controller.register(1)
        async with broker(through(controller.client.connection)) as port:
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
        dispatch = ControllerListener(at.service, settings).dispatch_table()
    answered_by_brokers = {
        apis.METADATA,
        apis.INIT_PRODUCER_ID,
        *groups.handlers(lambda _: UNRESTRICTED, tuple),
        *RecordsRequests(NoReplicas(), lambda _: UNRESTRICTED).handlers(),
    }
    by_clients = dispatch.handlers.keys() - FROM_BROKERS - {apis.FETCH_SNAPSHOT}
    assert set(FORWARDED) == by_clients - answered_by_brokers


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestError("NOT_CONTROLLER", "the controller cannot be reached"), 41),
        (UnavailableError("no answer; the outcome is unknown"), 7),
    ],
)
async def test_absent_controller_is_reported_in_the_response(
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
