"""Servers on loopback with real logs, and clients that send raw bytes."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from api.socket.frames import FrameReader
from api.socket.handshake import encode_hello, hello_of_client
from api.socket.server import LOOPBACK, SocketServer, serve_socket
from benchmarks.log_sessions import sessions_on
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.envelope import Envelope

CLUSTER_ID = "test-cluster"
HELLO = encode_hello(hello_of_client())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An empty own log."""
    create_log(tmp_path / "log", CLUSTER_ID)
    return tmp_path / "log"


@pytest.fixture
async def log(directory: Path) -> AsyncIterator[MetadataLog]:
    """The log, open for writing; its end is 1."""
    log = await MetadataLog.open(directory)
    yield log
    await log.close()


@pytest.fixture
async def server(log: MetadataLog) -> AsyncIterator[SocketServer]:
    """A server in front of the log."""
    server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID)
    yield server
    await server.close()


def rows(directory: Path) -> list[Envelope]:
    """Return all rows of a log, except the announcement of its writer."""
    with LogReader.open(directory) as reader:
        return [row for batch in reader.batches(1) for row in batch.rows]


class SlowLog:
    """A log that commits only when the test allows it, and counts the waiting appends."""

    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self.may_commit = asyncio.Event()
        self.waiting = 0
        self.waiting_max = 0

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        self.waiting += 1
        self.waiting_max = max(self.waiting, self.waiting_max)
        try:
            await self.may_commit.wait()
        finally:
            self.waiting -= 1
        return await self._log.append(batch, expected_end_offset=expected_end_offset)


class RawPeer:
    """A plain socket that sends the bytes given by a test."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader(1 << 30)

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.socket, data)

    def finish_sending(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    async def frame(self) -> bytes | None:
        """Return the next frame; None when the server disconnected."""
        async with asyncio.timeout(20):
            while (content := self._frames.next_frame()) is None:
                data = await self._loop.sock_recv(self.socket, 65_536)
                if not data:
                    return None
                self._frames.feed(data)
        return content

    async def rest(self) -> list[bytes]:
        """Return all frames until the server disconnects."""
        frames = []
        while (content := await self.frame()) is not None:
            frames.append(content)
        return frames


OpenRaw = Callable[..., Awaitable[RawPeer]]


@pytest.fixture
def raw() -> Iterator[OpenRaw]:
    """Connect to a server with plain sockets."""
    opened: list[socket.socket] = []

    async def connect(
        server: SocketServer, *, receive_buffer_bytes: int | None = None, hello: bytes = HELLO
    ) -> RawPeer:
        connection = socket.socket()
        opened.append(connection)
        connection.setblocking(False)
        if receive_buffer_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        await asyncio.get_running_loop().sock_connect(connection, (LOOPBACK, server.port))
        peer = RawPeer(connection)
        await peer.send(hello)
        return peer

    yield connect
    for connection in opened:
        connection.close()


def size_prefixed(content: bytes) -> bytes:
    """Return a frame with the given content, valid or not."""
    return struct.pack(">I", len(content)) + content
