"""Frames on a stream."""

import asyncio
import contextlib

from api.kafka.streams import close_writer, write_in_turns

_SIZE = 16 * 1024 * 1024
_HIGH_WATER = 1024 * 1024


async def test_a_large_answer_is_handed_over_in_parts() -> None:
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiting = [0]

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.set_result(len(await reader.read()))
        await close_writer(writer)

    async with await asyncio.start_server(read, "127.0.0.1", 0) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())

        async def watch() -> None:
            while True:
                waiting.append(writer.transport.get_write_buffer_size())
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        await write_in_turns(writer, bytes(_SIZE))
        await close_writer(writer)
        assert await received == _SIZE
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    assert max(waiting) < _HIGH_WATER
