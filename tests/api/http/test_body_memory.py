"""Bodies that are announced and not completed: rights come first, and all share one budget."""

import asyncio
from pathlib import Path

import httpx
import pytest

from api.http.commands import APPEND
from api.http.limits import BODY_SIZE_BYTES_MAX, RECORDS_SIZE_BYTES_MAX
from api.http.options import HttpOptions
from api.http.questions import LINES, path_of
from api.http.request import JSON
from api.requests.commands import COMMANDS
from controller.decisions.context.context import Settings
from metadata_log.limits import MIB
from tests.api.guarded import Rights
from tests.api.kafka.servers import server
from tests.api.limited_service import closing_peers, served

HEAD = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\n"
LENGTH, CHUNKED = "Content-Length: {}\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n"


def _head(name: str, framing: str = LENGTH) -> bytes:
    """Return the head of a request that announces the largest body of its path."""
    form, size = (LINES, RECORDS_SIZE_BYTES_MAX) if name == APPEND else (JSON, BODY_SIZE_BYTES_MAX)
    return (HEAD.format(path_of(name), form) + framing.format(size)).encode()


async def test_a_caller_without_the_right_is_refused_before_the_body(tmp_path: Path) -> None:
    rights = Rights()
    settings, http = Settings(authorizer=rights), HttpOptions(host="127.0.0.1", port=0)
    refused = set()
    async with server(tmp_path, settings=settings, http=http) as at:
        rights.only = set()
        host, _, port = at.http_url.removeprefix("http://").rpartition(":")
        for name, command in COMMANDS.items():
            if command.guard.operation is None:
                continue  # its rights depend on the body
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(_head(name))
            async with asyncio.timeout(30):
                assert b" 403 " in await reader.readline(), name
            writer.close()
            refused.add(name)
    assert APPEND in refused


@pytest.mark.parametrize("framing", [LENGTH, CHUNKED], ids=["announced", "chunked"])
@pytest.mark.parametrize(("name", "count"), [(APPEND, 30), ("topics delete", 300)])
async def test_half_bodies_of_many_connections_hold_little_memory(
    tmp_path: Path, name: str, count: int, framing: str
) -> None:
    size = RECORDS_SIZE_BYTES_MAX if name == APPEND else BODY_SIZE_BYTES_MAX
    half = _head(name, framing) + b" " * (size - 10_000)
    loop = asyncio.get_running_loop()
    async with (
        served(tmp_path, http=True) as service,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.http}", timeout=30) as http,
    ):
        assert (await http.get("/v1/topics/list")).status_code == 200
        before = most = service.memory_bytes
        with closing_peers() as peers:
            sending = []
            for _ in range(count):
                peer = await peers.connect(service.http)
                sending.append(asyncio.ensure_future(loop.sock_sendall(peer, half)))
            for number in range(60):
                most = max(most, service.memory_bytes)
                # Small requests of others are answered meanwhile.
                note = {"at_offset": 0, "text": str(number)}
                assert (await http.post("/v1/notes/add", json=note)).status_code == 200
                await asyncio.sleep(0.02)
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
        assert service.errors == ""
    assert most - before < 160 * MIB


async def test_a_large_body_that_waits_for_memory_is_taken_later(tmp_path: Path) -> None:
    """Connections that announce much and disconnect give their memory back."""
    head = _head(APPEND)
    async with server(tmp_path, http=HttpOptions(host="127.0.0.1", port=0)) as at:
        host, _, port = at.http_url.removeprefix("http://").rpartition(":")
        writers = []
        for _ in range(8):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(head)
            writers.append(writer)
        line = b'{"type":"NoteRecord","data":{"at_offset":0,"author":"ann","text":"1"}}'
        async with httpx.AsyncClient(base_url=at.http_url, timeout=30) as http:
            await http.get("/health")
            large = http.post(
                path_of(APPEND),
                content=line + b" " * (RECORDS_SIZE_BYTES_MAX - len(line)),
                headers={"Content-Type": LINES},
            )
            waiting = asyncio.create_task(large)
            for writer in reversed(writers):  # those that wait are the first to leave
                writer.close()
                await writer.wait_closed()
            assert (await waiting).status_code == 200
