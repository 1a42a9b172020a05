"""Starts and manages worker processes for questions about a service's log.

Replaying a long log in the service process would block the interpreter and delay appends.

A worker only reads, so it is killed as soon as its answer is not needed: the caller was cancelled,
the worker is stuck, or the service ends. The next question starts a new worker.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from api.child import give_way, kill
from api.questions.installation import fingerprint
from api.questions.pages import Cursor, Page
from api.questions.worker import ALIVE_EVERY_S, COPY, LENGTH, LIVE, PageRequest, Reply
from records.errors import UnavailableError

WORKERS_MAX = 2
"""Questions answered concurrently; others wait. Each process may hold a few images."""

IDLE_S = 60.0
"""A process is ended after this idle time."""

SILENT_MAX_S = 30.0
"""A process without a heartbeat for this long is stuck. A process that computes sends heartbeats,
but may have the lowest priority, so they may be late on a busy machine."""

assert ALIVE_EVERY_S * 10 <= SILENT_MAX_S


class Workers:
    """Answers questions about one log directory in child processes, started on demand.

    Attributes:
        sql_history: URL of the database with the SQL history; None: that in the directory.
    """

    def __init__(self, directory: Path, *, is_live: bool = True) -> None:
        """Create the workers for a log.

        Args:
            is_live: True if the log's writer serves it. The workers then have the lowest priority,
                so that they do not delay its appends.
        """
        self.sql_history: str | None = None
        # Found when the service starts, so that a process is never of another release.
        files = fingerprint()
        self._workers = [_Worker(directory, files, is_live=is_live) for _ in range(WORKERS_MAX)]
        self._is_closed = False
        # The answers of `begin` and `give`, until they are asked for.
        self._begun: dict[tuple[str, bytes, str], asyncio.Future[Page]] = {}
        # Set, and replaced, when a worker becomes free.
        self._freed = asyncio.Event()

    @property
    def begun(self) -> int:
        """The number of answers that were begun or given, and not requested yet."""
        return len(self._begun)

    def begin(self, name: str, payload: bytes, at: str) -> None:
        """Start to compute an answer's first page, which `page` returns for the same question.

        Call `forget` once the log has grown.
        """
        task = asyncio.create_task(self._page(name, payload, at))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._begun[name, payload, at] = task

    def give(self, name: str, payload: bytes, at: str, page: Page) -> None:
        """Keep an answer's only page that was computed elsewhere; otherwise as `begin`."""
        found = asyncio.get_running_loop().create_future()
        found.set_result(page)
        self._begun[name, payload, at] = found

    def forget(self) -> None:
        """Drop the answers that were begun but not requested: the log has grown since."""
        for task in self._begun.values():
            task.cancel()
        self._begun.clear()

    async def page(
        self,
        name: str,
        payload: bytes,
        at: str,
        cursor: Cursor | None,
        *,
        limit: int | None = None,
        by_name: bool = False,
    ) -> Page:
        """Return a page of an answer; arguments as `PagedLog.page`.

        Cancelling the caller stops the computation.

        Raises:
            RequestError, CorruptLogError: as for `PagedLog.page`.
            UnavailableError: the process ended or is stuck, `close` was called, or the program's
                files were replaced after the service was started.
        """
        if cursor is None and limit is None and not by_name:
            begun = self._begun.pop((name, payload, at), None)
            if begun is not None:
                return await begun
        return await self._page(name, payload, at, cursor, limit, by_name)

    async def _page(
        self,
        name: str,
        payload: bytes,
        at: str,
        cursor: Cursor | None = None,
        limit: int | None = None,
        by_name: bool = False,
    ) -> Page:
        request = PageRequest(
            question=name,
            payload=payload,
            at=at,
            cursor=cursor and _here(cursor, 0),
            limit=limit,
            # Not an argument of the process: it may contain a password, which `ps` would show.
            sql_history=self.sql_history,
            by_name=by_name,
        )
        # The process that has the answer half read.
        wanted = None if cursor is None else cursor.worker % WORKERS_MAX
        async with self._taken(wanted) as number:
            page = await self._workers[number].page(request)
        return replace(page, cursor=page.cursor and _here(page.cursor, number))

    async def close(self) -> None:
        """Kill all processes; questions that are in progress or waiting fail."""
        self._is_closed = True
        self.forget()
        self._wake()
        await asyncio.gather(*[worker.close() for worker in self._workers])

    @asynccontextmanager
    async def _taken(self, wanted: int | None) -> AsyncIterator[int]:
        """Reserve a free worker, or the worker `wanted` once it is free, for the `with` block."""
        while (number := self._free(wanted)) is None:
            await self._freed.wait()
        self._workers[number].is_taken = True
        try:
            yield number
        finally:
            self._workers[number].is_taken = False
            self._wake()

    def _free(self, wanted: int | None) -> int | None:
        """Return the number of a free worker, preferably one with a process; None if there is none.

        With `wanted`, only that worker is considered.
        """
        if self._is_closed:
            raise UnavailableError("the service is stopping; try again")
        free = [number for number, worker in enumerate(self._workers) if not worker.is_taken]
        if wanted is not None:
            return wanted if wanted in free else None
        return min(free, key=lambda number: not self._workers[number].has_process, default=None)

    def _wake(self) -> None:
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()


def _here(cursor: Cursor, number: int) -> Cursor:
    return replace(cursor, worker=number)


class _Worker:
    """One worker process; answers one question at a time.

    Attributes:
        is_taken: True while the process is in use; set by `Workers`.
    """

    def __init__(self, directory: Path, files: bytes, *, is_live: bool) -> None:
        self._directory, self._is_live = directory, is_live
        self._files = files
        self._child: asyncio.subprocess.Process | None = None
        # The names of the questions for which the process has imported what it needs.
        self._asked: set[str] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self.is_taken = False

    @property
    def has_process(self) -> bool:
        return self._child is not None and self._child.returncode is None

    async def page(self, request: PageRequest) -> Page:
        if self._idle is not None:
            self._idle.cancel()
        try:
            reply = await self._reply(request)
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
        """Kill the process; wait until it and earlier killed processes have ended."""
        if self._idle is not None:
            self._idle.cancel()
        self._end()
        if self._endings:
            await asyncio.wait(self._endings)

    async def _check_files(self) -> None:
        """Check that a new process would import the same code that this service runs.

        Raises:
            UnavailableError: the files were replaced, or are being replaced.
        """
        try:
            is_same = await asyncio.to_thread(fingerprint) == self._files
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise UnavailableError(
                "restart needed: the program's files were replaced after this service was started, "
                "and questions about the past must not mix two releases; restart the service"
            )

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            # A task of its own: the question may be cancelled again while its process ends.
            ending = asyncio.create_task(kill(child))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    def _end_idle(self) -> None:
        if not self.is_taken:
            self._end()

    async def _reply(self, request: PageRequest) -> Reply:
        if not self.has_process:
            self._asked.clear()
        if request.question not in self._asked:
            await self._check_files()
            self._asked.add(request.question)
        if not self.has_process:
            self._child = await _started(self._directory, is_live=self._is_live)
        child = self._child
        assert child is not None and child.stdin is not None and child.stdout is not None
        try:
            raw = msgspec.msgpack.encode(request)
            child.stdin.write(LENGTH.pack(len(raw)) + raw)
            async with asyncio.timeout(SILENT_MAX_S):
                await child.stdin.drain()
            return msgspec.msgpack.decode(await _frame(child.stdout), type=Reply)
        except TimeoutError as error:
            raise UnavailableError(
                f"the process that answers questions was stuck for {SILENT_MAX_S:g} s and was "
                "ended; try again"
            ) from error
        except (asyncio.IncompleteReadError, OSError) as error:
            raise UnavailableError("the process that answers questions ended; try again") from error


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next message that is not empty; empty ones are heartbeats.

    Raises:
        TimeoutError: no message for `SILENT_MAX_S`.
    """
    size = 0
    while not size:
        async with asyncio.timeout(SILENT_MAX_S):
            (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    async with asyncio.timeout(SILENT_MAX_S):
        return await reader.readexactly(size)


async def _started(directory: Path, *, is_live: bool) -> asyncio.subprocess.Process:
    arguments = str(directory), LIVE if is_live else COPY
    child = await asyncio.create_subprocess_exec(
        # -P: do not import packages from the current directory.
        *(sys.executable, "-P", "-m", "api.questions.worker", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ctrl-C at a terminal must reach only the service, which ends the child itself.
        start_new_session=True,
    )
    if is_live:
        give_way(child.pid)
    return child
