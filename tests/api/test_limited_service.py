"""A service with few file descriptors, or with slow clients, keeps working."""

import asyncio
from pathlib import Path

import pytest

from api.clients.client import MetadataClient
from api.socket.client import SocketClient
from api.socket.frames import FrameReader, Kind
from api.socket.handshake import encode_hello, hello_of_client
from api.socket.refusals import decode_refused
from metadata_log.format.batch import NewBatch
from records.control import NoteRecord
from records.errors import RequestError
from tests.api.limited_service import closing_peers, half_frame, is_closed, served, start

MIB = 1024 * 1024


def note(text: str) -> NewBatch:
    return NewBatch(records=(NoteRecord(at_offset=0, author="test", text=text),))


async def test_service_without_descriptors_left_serves_those_it_has(tmp_path: Path) -> None:
    async with served(tmp_path, descriptors=128) as service:
        url = f"kafka://127.0.0.1:{service.kafka}"
        with closing_peers() as peers:
            async with await MetadataClient.connect(url) as kafka:
                socket = await SocketClient.connect("127.0.0.1", service.socket)
                for number in range(60):
                    for port in (service.kafka, service.kafka, service.socket):
                        await peers.connect(port)
                    # Both stay active, so that they are never the longest idle ones.
                    await kafka.metadata(())
                    await socket.append(note(f"with {3 * number} others"))
                async with asyncio.timeout(30):
                    while service.descriptors > 110:
                        await asyncio.sleep(0.05)
                await socket.append(note("and afterwards"))
                assert (await kafka.metadata(())).cluster_id is not None
                # Newcomers are welcome, too.
                async with await MetadataClient.connect(url) as another:
                    assert (await another.metadata(())).cluster_id is not None
                await socket.close()
        lines = service.errors.splitlines()
    assert "Traceback" not in service.errors
    assert len(lines) < 60
    assert "this process may open 128 files: it accepts at most 64 connections" in lines[0]


async def test_service_with_too_few_descriptors_does_not_start(tmp_path: Path) -> None:
    service = await start(tmp_path, descriptors=40)
    assert await service.ended() == 4
    (line,) = service.errors.splitlines()
    assert "this process may open 40 files, at least 64 are needed" in line


async def test_half_frames_of_many_connections_hold_little_memory(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with (
        served(tmp_path) as service,
        await MetadataClient.connect(f"kafka://127.0.0.1:{service.kafka}") as kafka,
    ):
        before = most = service.memory_bytes
        with closing_peers() as peers:
            half = half_frame(15 * MIB, 15 * MIB - 1)
            sending = []
            for _ in range(20):
                peer = await peers.connect(service.kafka)
                sending.append(asyncio.ensure_future(loop.sock_sendall(peer, half)))
            for _ in range(100):
                most = max(most, service.memory_bytes)
                # Small requests of others are answered meanwhile.
                assert (await kafka.metadata(())).cluster_id is not None
                await asyncio.sleep(0.02)
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
    assert most - before < 150 * MIB


@pytest.mark.parametrize("body", [b"\x81\xa6schema\xa2\xff\xfe", b"\x81\xa1\xff\xa1a", b"\xc1"])
async def test_hello_that_is_no_text_is_refused(tmp_path: Path, body: bytes) -> None:
    hello = bytearray(encode_hello(hello_of_client()))
    content = bytes(hello[4:10]) + body
    frame = len(content).to_bytes(4, "big") + content
    loop = asyncio.get_running_loop()
    async with served(tmp_path) as service:
        with closing_peers() as peers:
            peer = await peers.connect(service.socket)
            await loop.sock_sendall(peer, frame)
            reader = FrameReader(1 << 16)
            async with asyncio.timeout(30):
                while (answer := reader.next_frame()) is None:
                    received = await loop.sock_recv(peer, 4096)
                    assert received, "closed without a word"
                    reader.feed(received)
            assert answer[0] == Kind.REFUSED
            error = decode_refused(answer).error
            assert isinstance(error, RequestError)
            assert "cannot be read" in str(error)
            assert await is_closed(peer)
    assert service.errors == ""


async def test_bad_frames_write_one_line_a_second(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with served(tmp_path) as service:
        started = loop.time()
        for _ in range(200):
            with closing_peers() as peers:
                for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\4\x7f\x7f\0\0"):
                    peer = await peers.connect(service.kafka)
                    await loop.sock_sendall(peer, garbage)
                    assert await is_closed(peer)
        took_s = loop.time() - started
        await asyncio.sleep(1.1)
        with closing_peers() as peers:
            peer = await peers.connect(service.kafka)
            await loop.sock_sendall(peer, b"\xff" * 8)
            assert await is_closed(peer)
    lines = service.errors.splitlines()
    assert len(lines) <= took_s + 3
    assert "more lines like this were left out)" in lines[-1]
