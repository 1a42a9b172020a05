"""Releases with different versions of the socket protocol, or with different record types."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.server import serving
from api.socket import handshake, schemas
from api.socket.appends import (
    Append,
    decode_append,
    decode_appended,
    encode_append,
    encode_rows,
    rows_request,
)
from api.socket.client import SocketClient
from api.socket.server import SocketServer
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import NewBatch
from records.avro.layout import fingerprint, layout_of
from records.avro.schema import stored_schema
from records.base import Record, Uuid
from records.brokers import RegisterBrokerRecord, UnregisterControllerRecord
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import RequestError, UnavailableError
from tests.api.socket.conftest import CLUSTER_ID, OpenRaw, rows
from tests.api.socket.test_peers import other_server
from tests.api.socket.test_served import options
from tests.golden import MANIFEST, socket_1

NOTE = NewBatch(
    records=(NoteRecord(at_offset=0, author="ann", text="before"),),
    origin=Origin(principal="User:ANONYMOUS", request_id="r1", request_hash=b"h"),
)


def registration(**fields: Any) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=Uuid(bytes(range(16))),
        broker_epoch=1,
        end_points=(),
        features=(),
        rack=None,
        **fields,
    )


# Yesterday's client


async def test_client_of_version_1_appends_to_a_service_of_today(directory: Path) -> None:
    async with serving(options(directory)) as running:
        assert running.socket is not None
        client = await socket_1.Client.connect(running.socket.port, CLUSTER_ID)
        first = await client.append(socket_1.NOTE)
        assert await client.append(socket_1.NOTE) == first
        end = first["end_offset"]
        assert running.service.image.provenance.next_offset == end == first["base_offset"] + 1
        refused = await client.append(encode_rows(_note("late")), expected_end_offset=0)
        assert (refused["family"], refused["outcome"]) == ("request", "nothing")
        assert refused["code"] == "INVALID_UPDATE_VERSION"
        await client.close()
        assert [note.text for note in running.service.image.notes()] == ["before"]
    origin = rows(directory)[-1].origin
    assert origin is not None and origin.request_id == "r1"


# Yesterday's server


@asynccontextmanager
async def _connected_to_version_1() -> AsyncIterator[tuple[socket_1.Server, SocketClient]]:
    server = socket_1.Server()
    async with (
        other_server(server.serve) as port,
        await SocketClient.connect("127.0.0.1", port) as client,
    ):
        yield server, client


async def test_client_of_today_appends_to_a_server_of_version_1() -> None:
    async with _connected_to_version_1() as (server, client):
        assert (client.version, client.cluster_id) == (1, "of-before")
        result = await client.append(NOTE, expected_end_offset=0)
        assert (result.base_offset, result.end_offset) == (0, 1)
        with pytest.raises(RequestError, match="the log ends at 1") as caught:
            await client.append(NOTE, expected_end_offset=7)
        assert caught.value.code == "INVALID_UPDATE_VERSION"
    assert server.rows == [socket_1.NOTE]


async def test_what_version_1_lacks_is_not_sent_to_it() -> None:
    async with _connected_to_version_1() as (server, client):
        for asked in (
            client.append(NOTE, expected_versions=(ExpectedVersion("topic:a", 3),)),
            client.run(CreateNamespace("n")),
            anext(client.subscribe(0)),
        ):
            with pytest.raises(RequestError, match="speaks version 1") as caught:
                await asked
            assert caught.value.code == "UNSUPPORTED_VERSION"
        await client.append(NOTE)
    assert len(server.rows) == 1


# Releases with other record types


def test_version_1_is_spoken_with_the_schema_of_the_first_release() -> None:
    assert schemas.first_schema() == socket_1.SCHEMA
    assert socket_1.SCHEMA in MANIFEST.read_text()


def test_rows_in_the_schema_of_every_release_are_known() -> None:
    """Each field that was added to a record needs a line in ADDED_FIELDS."""
    for path in sorted((MANIFEST.parent / "schemas").glob("*.avsc")):
        layout = layout_of(stored_schema(json.loads(path.read_text())))
        assert layout is not None, path.name
        as_appended = msgspec.structs.replace(layout, has_added_fields=False)
        assert fingerprint(as_appended) in schemas.layouts()


@pytest.fixture
def older() -> str:
    """The schema of an earlier release, without UnregisterControllerRecord and CordonedLogDirs."""
    return schemas.first_schema()


async def test_server_reads_rows_in_the_schema_of_an_earlier_release(
    server: SocketServer, raw: OpenRaw, older: str, directory: Path
) -> None:
    hello = handshake.Hello(schema=older, schemas=("f" * 16, older))
    peer = await raw(server, hello=handshake.encode_hello(hello))
    append = Append(correlation_id=1, batch=NOTE, expected_end_offset=None)
    await peer.send(encode_append(append, schemas.layouts()[older]))
    peer.finish_sending()
    welcome, answer = await peer.rest()
    assert handshake.decode_welcome(welcome).schema == older
    assert decode_appended(answer).result.base_offset == 1
    assert [row.payload for row in rows(directory)] == list(NOTE.records)


@pytest.mark.parametrize(
    ("lacking", "named"),
    [
        (UnregisterControllerRecord(controller_id=3), "UnregisterControllerRecord"),
        (registration(cordoned_log_dirs=()), "cordoned_log_dirs of RegisterBrokerRecord"),
    ],
    ids=["type", "field"],
)
async def test_client_writes_the_schema_that_the_server_chose_and_nothing_that_it_lacks(
    older: str, lacking: Record, named: str
) -> None:
    appends: list[NewBatch] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = handshake.decode_hello(await socket_1.read_frame(reader))
        assert (hello.schemas[0], hello.schemas[-1]) == (next(iter(schemas.layouts())), older)
        welcome = handshake.Welcome(cluster_id="c", schema=older, schemas=(older,))
        writer.write(handshake.encode_welcome(welcome))
        content = await socket_1.read_frame(reader)
        appends.append(decode_append(content, schemas.layouts()[older]).batch)

    async with other_server(serve) as port:
        client = await SocketClient.connect("127.0.0.1", port)
        with pytest.raises(RequestError, match=f"has no {named}") as caught:
            await client.append(NewBatch(records=(lacking,)))
        assert caught.value.code == "UNSUPPORTED_VERSION"
        # Without a value in the added field, the record is written as it was before.
        with pytest.raises(UnavailableError, match="the outcome is unknown"):
            await client.append(NewBatch(records=(registration(),)))
        await client.close()
    assert [batch.records for batch in appends] == [(registration(),)]


async def test_added_fields_reach_a_service_by_each_kind_of_append(directory: Path) -> None:
    cordoned = registration(cordoned_log_dirs=(Uuid(bytes(16)),))
    async with serving(options(directory)) as running:
        assert running.socket is not None
        async with await SocketClient.connect("127.0.0.1", running.socket.port) as client:
            await client.append(NewBatch(records=(cordoned,)))
            await client.run("records append", rows_request((cordoned,)))
            # As a client of the release before sends it.
            before = rows_request((registration(),))
            assert before.schema is None
            await client.run("records append", before)
            unknown = msgspec.structs.replace(before, schema="f" * 16)
            with pytest.raises(RequestError, match="does not know") as caught:
                await client.run("records append", unknown)
            assert caught.value.code == "UNSUPPORTED_VERSION"
    found = [row.payload for row in rows(directory)]
    assert found[-3:] == [cordoned, cordoned, registration()]


def _note(text: str) -> NewBatch:
    return NewBatch(records=(NoteRecord(at_offset=0, author="ann", text=text),))


# Unknown fields


def test_fields_of_a_later_release_are_ignored() -> None:
    hello = handshake.hello_of_client("c", "script")
    assert handshake.decode_hello(_with_fields(handshake.encode_hello(hello), 6)) == hello
    welcome = handshake.agree(hello, "c")
    content = _with_fields(handshake.encode_welcome(welcome), 2)
    assert handshake.decode_welcome(content) == welcome


def _with_fields(frame: bytes, head_size: int) -> bytes:
    head, body = frame[4 : 4 + head_size], msgspec.msgpack.decode(frame[4 + head_size :])
    later = {**body, "compression": ["zstd"], "window": 7, "more": {"a": None}}
    return head + msgspec.msgpack.encode(later)
