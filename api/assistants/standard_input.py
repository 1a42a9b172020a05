"""Lines of standard input, read so that the process can end while its client is silent.

The library waits for its reading thread when the process ends. Here the reader is a daemon thread,
which blocks in a system call and holds no Python lock.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator

_READ_BYTES = 64 * 1024


async def lines() -> AsyncIterator[bytes]:
    """Yield the lines of standard input; any other reader, such as a child, finds no input."""
    own = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    found: asyncio.Queue[bytes | None] = asyncio.Queue(1)
    loop = asyncio.get_running_loop()

    def read() -> None:
        rest = b""
        while part := os.read(own, _READ_BYTES):
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                put(line)
        put(rest or None)
        put(None)

    def put(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(found.put(line), loop).result()

    threading.Thread(target=read, daemon=True).start()
    while (line := await found.get()) is not None:
        yield line
