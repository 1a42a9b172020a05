"""Starts and manages worker processes for questions about a service's log.

Replaying a long log in the service itself would hold the interpreter's lock and delay appends.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from api.child import end, give_way
from api.questions.pages import Cursor, Page
from api.questions.worker import LENGTH, Asked, Reply
from records.errors import UnavailableError

WORKERS_MAX = 2
"""Questions answered concurrently; others wait. Each process may hold a few images."""

IDLE_S = 60.0
"""A process is ended after this idle time."""


class Workers:
    """Answers questions about one log directory in child processes, started on demand."""

    def __init__(self, directory: Path) -> None:
        self._workers = [_Worker(directory) for _ in range(WORKERS_MAX)]
        self._waiting = [0] * WORKERS_MAX

    async def page(self, name: str, payload: bytes, at: str, cursor: Cursor | None) -> Page:
        """Return a page; see `PagedLog.page`.

        Raises:
            RequestError, CorruptLogError: as `PagedLog.page`.
            UnavailableError: the process ended.
        """
        if cursor is None:
            number = min(range(WORKERS_MAX), key=lambda i: self._waiting[i])
        else:
            number = cursor.worker % WORKERS_MAX
        self._waiting[number] += 1
        try:
            asked = Asked(question=name, payload=payload, at=at, cursor=cursor and _here(cursor, 0))
            page = await self._workers[number].page(asked)
        finally:
            self._waiting[number] -= 1
        return replace(page, cursor=page.cursor and _here(page.cursor, number))

    async def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            await worker.close()


def _here(cursor: Cursor, number: int) -> Cursor:
    return replace(cursor, worker=number)


class _Worker:
    """One process; answers one question after the other."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._child: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[Any] | None = None

    async def page(self, asked: Asked) -> Page:
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                reply = await self._reply(asked)
            except BaseException:
                # An abandoned answer would be taken for the next one.
                await self.close()
                raise
            self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle)
        if reply.error is not None:
            raise reply.error.error()
        assert reply.page is not None, "a reply is an error or a page"
        return reply.page

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        child, self._child = self._child, None
        if child is not None:
            await end(child)

    def _end_idle(self) -> None:
        if not self._turn.locked():
            self._ending = asyncio.create_task(self.close())

    async def _reply(self, asked: Asked) -> Reply:
        if self._child is None or self._child.returncode is not None:
            self._child = await _started(self._directory)
        reader, writer = self._child.stdout, self._child.stdin
        assert reader is not None and writer is not None, "both are pipes"
        try:
            raw = msgspec.msgpack.encode(asked)
            writer.write(LENGTH.pack(len(raw)) + raw)
            await writer.drain()
            (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
            return msgspec.msgpack.decode(await reader.readexactly(size), type=Reply)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise UnavailableError("the process that answers questions ended; try again") from error


async def _started(directory: Path) -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        # -P: do not import packages from the current directory.
        *(sys.executable, "-P", "-m", "api.questions.worker", str(directory)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ctrl-C at a terminal must reach only the service, which ends the child itself.
        start_new_session=True,
    )
    give_way(child.pid)
    return child
