"""HTTP under load: connection limit reached, requests that are not HTTP, sockets of ended
services.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from api.http import heartbeats
from api.http.options import HttpOptions
from api.http.server import HttpServer
from api.transport.connections import Connections
from api.transport.unix_sockets import listening_at
from controller.decisions.notes import AddNote
from tests.api.http.conftest import Web
from tests.api.kafka.servers import server

PLACES = 2


async def _connected(web: Web, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = web.at.http_url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    await writer.drain()
    return reader, writer


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Web]:
    """A service that accepts few connections."""
    options = HttpOptions(host="127.0.0.1", port=0, connections_max=PLACES)
    async with (
        server(tmp_path, http=options) as at,
        httpx.AsyncClient(base_url=at.http_url, timeout=30) as http,
    ):
        yield Web(at, http)


async def test_streams_never_keep_out_what_watches_the_service(small: Web) -> None:
    web = small
    stream = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    streams = [await _connected(web, stream) for _ in range(PLACES)]
    for reader, _ in streams:
        await reader.readuntil(b": from offset")
    for path in ("/health", "/ready", "/metrics"):
        # Each on a connection of its own, which takes a reserved place and gives it back.
        async with httpx.AsyncClient(base_url=web.at.http_url) as client:
            assert (await client.get(path)).status_code == 200, path
            other = await client.get("/v1/topics/list")
            assert (other.status_code, other.json()["code"]) == (503, "UNAVAILABLE")
            assert "all connections are in use" in other.json()["detail"]
    for _, writer in streams:
        writer.close()
    async with asyncio.timeout(30):
        while (await web.http.get("/v1/topics/list")).status_code != 200:
            await asyncio.sleep(0.01)


async def test_what_is_not_http_on_an_open_stream_ends_it_without_a_traceback(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    reader, writer = await _connected(web, head)
    await reader.readuntil(b": from offset")
    writer.write(b"no chunk\r\n")
    async with asyncio.timeout(30):
        assert b"400" not in await _rest(reader)
    writer.close()
    assert [record.exc_info for record in caplog.records if record.exc_info] == []
    assert (await web.http.get("/ready")).status_code == 200


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def test_invalid_requests_are_problems_and_log_a_line_a_second(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    sent = 0
    async with asyncio.timeout(60):
        while sent < 20 or not _invalid_lines(caplog):
            reader, writer = await _connected(web, b"nonsense\r\n\r\n")
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert b'"code":"INVALID_REQUEST"' in answer
            writer.close()
            sent += 1
    assert _invalid_lines(caplog) < sent


def _invalid_lines(caplog: pytest.LogCaptureFixture) -> int:
    return sum("Invalid HTTP request" in record.getMessage() for record in caplog.records)


async def test_a_stream_whose_types_never_come_is_kept_open(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "BEAT_S", 0.01)
    changing = asyncio.Event()

    async def change() -> None:
        while not changing.is_set():
            await web.at.client.run(AddNote(at_offset=0, text="x"))

    busy = asyncio.create_task(change())
    async with web.http.stream("GET", "/v1/events", params={"types": "TopicRecord"}) as response:
        lines = response.aiter_lines()
        found = [await anext(lines) for _ in range(6)]
    changing.set()
    await busy
    assert [line for line in found if line][1:] == [": nothing new"] * 2


@pytest.mark.parametrize("is_full", [False, True])
async def test_the_socket_of_a_stopped_process_does_not_block_the_start(
    tmp_path: Path, is_full: bool
) -> None:
    path = tmp_path / "http.sock"
    stopped = socket.socket(socket.AF_UNIX)
    stopped.bind(str(path))
    stopped.listen(0)
    waiting = []
    while is_full:
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        waiting.append(client)
        if client.connect_ex(str(path)):
            break
    with pytest.raises(Exception, match="in use"):
        await HttpServer.listen(HttpOptions(path=path), Connections())
    assert path.exists()
    for each in (stopped, *waiting):
        each.close()


def test_a_path_that_something_else_took_is_left(tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    first = listening_at(path)
    path.unlink()
    second = listening_at(path)
    first.close()
    assert path.exists()
    second.close()
    assert not path.exists()
    second.close()


async def test_records_are_appended_on_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    transport = httpx.AsyncHTTPTransport(uds=str(path))
    line = '{"type":"NoteRecord","data":{"at_offset":0,"author":"ann","text":"seen"}}'
    async with (
        server(tmp_path, http=HttpOptions(path=path)),
        httpx.AsyncClient(transport=transport, base_url="http://any") as client,
    ):
        form = {"Content-Type": "application/x-ndjson"}
        for place in ("/v1/records/append", "/v1/records/append/"):
            done = await client.post(place, content=line, headers=form)
            assert (done.status_code, done.json()["records"]) == (200, 1), done.text
        assert path.stat().st_mode & 0o777 == 0o600
