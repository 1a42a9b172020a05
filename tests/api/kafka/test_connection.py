"""Kafka client connections to a peer that does not speak Kafka's protocol."""

import asyncio
import gc
import socket
import struct

import pytest

from api.kafka.connection import Connection
from api.kafka.messages.topics import RunCommandRequest, RunCommandResponse
from records.errors import UnavailableError

_BEYOND_BUFFERS = 32 * 1024 * 1024


async def test_peer_that_answers_garbage_and_disconnects_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The request is not read, so that its write is under way when the garbage arrives.
        await reader.readexactly(1)
        writer.write(b"\x7f" * 8)
        await connection.ended()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = await Connection.open("127.0.0.1", port)
    request = RunCommandRequest(command="notes add", payload=b"x" * _BEYOND_BUFFERS)
    with pytest.raises(UnavailableError, match="outcome is unknown"):
        await connection.request(request, RunCommandResponse)
    await connection.close()
    server.close()
    await server.wait_closed()
    gc.collect()
    await asyncio.sleep(0)
    assert "never retrieved" not in caplog.text
