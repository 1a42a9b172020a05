"""`metalog serve` in a process with a limit of open files, and clients that send raw bytes."""

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from metadata_log.writer.creation import create_log
from records.text import uuid_text
from tests import processes
from tests.forked_commands import METALOG

READY_S = 60.0


class Served:
    """A running service.

    Attributes:
        kafka, socket, http: Ports of the listeners on loopback.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: Path, errors: Path) -> None:
        self._process = process
        self._errors = errors
        self.log = log
        self.kafka = self.socket = self.http = 0

    async def is_ready(self) -> None:
        """Wait for the line that reports that the service is ready."""
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S):
            line = await self._process.stdout.readline()
        assert line, self.errors
        ready: dict[str, Any] = json.loads(line)
        self.kafka = int(ready["kafka"].rpartition(":")[2])
        self.socket = int(ready["socket"].rpartition(":")[2])
        if "http" in ready:
            self.http = int(ready["http"].rpartition(":")[2])

    @property
    def errors(self) -> str:
        """Return what the process wrote to standard error."""
        return self._errors.read_text()

    @property
    def descriptors(self) -> int:
        """Return the number of open files of the process."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    @property
    def memory_bytes(self) -> int:
        """Return the resident memory of the process."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(row.split()[1]) for row in status.splitlines() if "VmRSS" in row) * 1024

    async def stop(self) -> int:
        """Shut the service down cleanly; return its exit code."""
        if self._process.returncode is None:
            self._process.terminate()
        return await self.ended()

    async def ended(self) -> int:
        """Wait until the process ends; return its exit code."""
        return await processes.ended(self._process, READY_S)


async def start(directory: Path, descriptors: int | None = None, *, http: bool = False) -> Served:
    """Start a service on a new log, without waiting until it is ready."""
    log = directory / "log"
    create_log(log, uuid_text(bytes(range(16))))
    command = ["serve", str(log), "--kafka", "127.0.0.1:0", "--socket", "127.0.0.1:0", "--json"]
    if http:
        command += ["--http", "127.0.0.1:0"]
    errors = directory / "errors.txt"
    with errors.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            *(*METALOG, *command),
            stdout=asyncio.subprocess.PIPE,
            stderr=sink,
            preexec_fn=processes.descriptor_limit(descriptors),
        )
    return Served(process, log, errors)


@contextlib.asynccontextmanager
async def served(
    directory: Path, descriptors: int | None = None, *, http: bool = False
) -> AsyncIterator[Served]:
    """Run a service while the body runs; it must shut down cleanly afterwards."""
    service = await start(directory, descriptors, http=http)
    try:
        await service.is_ready()
        yield service
    except BaseException:
        with contextlib.suppress(AssertionError):
            await service.stop()
        raise
    assert await service.stop() == 0, service.errors


class Peers:
    """Plain connections, closed at the end."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []

    async def connect(self, port: int) -> socket.socket:
        """Open one more connection; the server may close it at once."""
        connection = socket.socket()
        self._open.append(connection)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        return connection

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._open.pop().close()


@contextlib.contextmanager
def closing_peers() -> Iterator[Peers]:
    """Yield `Peers`, and close them."""
    peers = Peers()
    try:
        yield peers
    finally:
        peers.close()


def half_frame(announced: int, sent: int) -> bytes:
    """Return the first bytes of a frame, valid for both protocols."""
    return struct.pack(">I", announced) + bytes(sent)


async def is_closed(connection: socket.socket, within_s: float = 30.0) -> bool:
    """Return whether the server closes a connection in time; received data is dropped."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within_s):
            while await loop.sock_recv(connection, 65_536):
                pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True
