"""Clients that reconnect: which requests they retry; nothing is lost or done twice."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.cli.main import run
from api.clients import reconnecting_client
from api.clients.blocking_client import BlockingClient
from api.clients.reconnecting_client import ReconnectingClient
from api.questions.rows import FollowRows
from api.security.listeners import LOCAL
from api.server import ServeOptions, serving
from api.socket import handshake
from api.socket.appends import Appended, correlation_id_of, decode_append, encode_appended
from api.socket.schemas import first_schema, layouts
from controller.decisions.notes import AddNote
from metadata_log.format.batch import AppendResult, Batch, NewBatch
from metadata_log.writer.creation import create_log
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import Outcome, RequestError, UnavailableError
from tests.api import services
from tests.api.socket.test_peers import other_server
from tests.golden import socket_1

RESULT = AppendResult(base_offset=1, end_offset=2, leader_epoch=1, timestamp=5)


def _note(text: str, request_id: str | None = None) -> NewBatch:
    request_hash = None if request_id is None else text.encode()
    return NewBatch(
        records=(NoteRecord(at_offset=0, author="ann", text=text),),
        origin=Origin(request_id=request_id, request_hash=request_hash),
    )


class Unreliable:
    """A server that disconnects after the first append it reads, and answers later ones."""

    def __init__(self) -> None:
        self.received: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handshake.decode_hello(await socket_1.read_frame(reader))
        welcome = handshake.Welcome(cluster_id="c", schema=first_schema())
        writer.write(handshake.encode_welcome(welcome))
        content = await socket_1.read_frame(reader)
        (note,) = decode_append(content, layouts()[first_schema()]).batch.records
        assert isinstance(note, NoteRecord)
        self.received.append(note.text)
        if len(self.received) > 1:
            answer = Appended(correlation_id=correlation_id_of(content), result=RESULT)
            writer.write(encode_appended(answer))


@asynccontextmanager
async def _unreliable() -> AsyncIterator[tuple[Unreliable, ReconnectingClient]]:
    server = Unreliable()
    async with (
        other_server(server.serve) as port,
        ReconnectingClient(f"socket://127.0.0.1:{port}") as client,
    ):
        yield server, client


async def test_append_with_a_request_id_is_sent_again() -> None:
    async with _unreliable() as (server, client):
        assert await client.append(_note("one", "r1")) == RESULT
    assert server.received == ["one", "one"]


async def test_append_without_a_request_id_is_not_sent_again_once_it_was_sent() -> None:
    async with _unreliable() as (server, client):
        with pytest.raises(UnavailableError, match="the outcome is unknown") as caught:
            await client.append(_note("one"))
        assert caught.value.outcome is Outcome.UNKNOWN
        # The next one finds the connection lost before it is sent.
        assert await client.append(_note("two")) == RESULT
    assert server.received == ["one", "two"]


async def test_request_fails_once_its_time_is_over() -> None:
    client = ReconnectingClient("socket://127.0.0.1:1", patience_s=0.2)
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1"):
        await client.append(_note("one"))


async def test_nodes_that_are_all_gone_are_tried_once_between_two_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_PAUSE_S_MIN", "_NODES_PAUSE_S_MAX"):
        monkeypatch.setattr(reconnecting_client, name, 0.5)
    tried: list[asyncio.StreamWriter] = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tried.append(writer)

    async with AsyncExitStack() as stack:
        ports = [await stack.enter_async_context(other_server(serve)) for _ in range(4)]
        url = "socket://" + ",".join(f"127.0.0.1:{port}" for port in ports)
        with pytest.raises(UnavailableError):
            await ReconnectingClient(url, patience_s=1.2).append(_note("one"))
    # A pause takes at least 0.25 s, and none begins after 0.7 s.
    assert 4 <= len(tried) <= 4 * (1 + 3)


async def test_another_cluster_at_the_same_address_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        create_log(tmp_path / name, f"cluster-{name}")
    async with serving(ServeOptions(log=tmp_path / "one", socket=LOCAL)) as running:
        assert running.socket is not None
        port = running.socket.port
        client = ReconnectingClient(f"socket://127.0.0.1:{port}")
        await client.append(_note("one"))
    async with serving(ServeOptions(log=tmp_path / "two", socket=replace(LOCAL, port=port))):
        with pytest.raises(RequestError, match="no longer cluster-one") as caught:
            await client.append(_note("two"))
        assert caught.value.code == "INCONSISTENT_CLUSTER_ID"
        await client.close()


async def test_batches_are_refused_where_there_is_no_socket(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test")
    async with (
        serving(ServeOptions(log=tmp_path / "log")) as running,
        ReconnectingClient(f"kafka://127.0.0.1:{running.kafka.port}") as client,
    ):
        assert (await client.run(AddNote(at_offset=0, text="one"))).wrote
        with pytest.raises(RequestError, match="write the URL of the service's socket"):
            await client.append(_note("two"))


async def test_killed_service_is_gone_on_with_after_its_restart(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    found: list[Batch] = []
    with services.serving(tmp_path / "log") as service:
        client = ReconnectingClient(service.socket)
        await client.append(_note("before", "r1"))
        batches = client.subscribe(0)
        while not found or found[-1].end_offset < 3:
            found.append(await anext(batches))
        waiting = asyncio.ensure_future(anext(batches))
        service.process.kill()
        service.process.wait()
    appended = asyncio.ensure_future(client.append(_note("after", "r2")))
    host, port = service.socket_address
    with services.serving(tmp_path / "log", socket=f"{host}:{port}"):
        end = (await appended).end_offset
        found.append(await waiting)
        async with aclosing(batches):
            while found[-1].end_offset < end:
                found.append(await anext(batches))
        # It was committed once.
        assert (await client.append(_note("after", "r2"))).end_offset == end
        answer = (await client.page("tail", FollowRows(first=str(end)))).response
        assert answer.rows == ()
        await client.close()
    assert [batch.base_offset for batch in found] == [
        0,
        *[batch.end_offset for batch in found[:-1]],
    ]
    texts = [
        row.payload.text for b in found for row in b.rows if isinstance(row.payload, NoteRecord)
    ]
    assert texts == ["before", "after"]


# Without an event loop


@pytest.fixture
def blocking(tmp_path: Path) -> Iterator[BlockingClient]:
    """A client of a service in another process."""
    assert run(["init", str(tmp_path / "log")]) == 0
    with services.serving(tmp_path / "log") as service, BlockingClient(service.socket) as client:
        yield client


def test_blocking_client_has_the_same_calls(blocking: BlockingClient) -> None:
    result = blocking.append(_note("one"))
    end = blocking.run(AddNote(at_offset=0, text="two")).end_offset
    found = blocking.subscribe(result.base_offset)
    assert [next(found).base_offset for _ in range(2)] == [result.base_offset, result.end_offset]
    rows = blocking.page("tail", FollowRows(first=str(end - 1))).response.rows
    assert [row.data["text"] for row in rows] == ["two"]
    with pytest.raises(RequestError):
        blocking.append(_note("late"), expected_end_offset=0)
    # Threads share it, while one of them waits for the next batch.
    taken = threading.Thread(target=next, args=(found,))
    taken.start()
    blocking.append(_note("three"))
    taken.join(30)
    assert not taken.is_alive()
