"""A proxy before a server, which makes each answer come later: as from a store that is far away.

`python -m benchmarks.nodes.distant PORT SERVER_PORT DELAY_MS`
"""

import asyncio
import sys

from benchmarks.peers.server_process import LOOPBACK

_READ_BYTES = 65_536


async def serve(port: int, server_port: int, delay_s: float) -> None:
    """Pass connections on to the server, until the process is ended."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(LOOPBACK, server_port)
        await asyncio.gather(_pass(reader, requests, 0.0), _pass(answers, writer, delay_s))

    server = await asyncio.start_server(connected, LOOPBACK, port)
    await server.serve_forever()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Write everything that is read, each part later by the delay; then close."""
    later = asyncio.get_running_loop().call_later
    while part := await reader.read(_READ_BYTES):
        later(delay_s, writer.write, part)
    later(delay_s, writer.close)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) / 1_000))
