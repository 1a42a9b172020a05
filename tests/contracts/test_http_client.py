"""The contract of the HTTP client: on one service, and on three nodes whose leaders end.

The client runs in a process of its own and never waits for a fail-over. Its requests have ids, so
it has to find the same as on one service, however a leader ends.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL

from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.control import NoteRecord
from tests.api.services import serving
from tests.docs_console import ROOT
from tests.ports import free_ports
from tests.postgres import postgres_server, text_of
from tests.stories.nodes import NodesWorld
from tests.stories.processes import soon

ROUNDS = 2
"""Rounds without a fault before and after each."""

LINE_S = 60.0


def expected(number: int) -> dict[str, Any]:
    """Return what a round finds."""
    return {
        "appended": 1,
        "again": True,
        "dumped": [str(number)],
        "seen": str(number),
        "behind the log's end": ["INVALID_UPDATE_VERSION", "nothing", 412],
        "created": [f"namespace:org-{number}"],
        "other version": ["INVALID_UPDATE_VERSION", "nothing", True, 412],
        "reads its writes": [True, False],
        "history": ["NamespaceRecord", "RemoveNamespaceRecord"],
        "pages": True,
        "of one image": 1,
    }


class Program:
    """The client's process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.found: list[dict[str, Any]] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, url: str) -> "AsyncIterator[Program]":
        """Start the program; end it, if it still runs, when the `with` block ends."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.contracts.http_promises", url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT / "client")},
        )
        try:
            yield cls(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def rounds(self, count: int) -> None:
        """Let it finish some more rounds."""
        for _ in range(count):
            self.found.append(json.loads(await self._line()))

    async def rounds_until(self, ended: "asyncio.Task[Any]") -> None:
        """Let it go on until a fault is over."""
        while not ended.done():
            await self.rounds(1)
        ended.result()

    async def end(self) -> None:
        """Let it finish its round, and read the rest."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        while line := await self._line():
            self.found.append(json.loads(line))
        assert await self._process.wait() == 0

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        async with asyncio.timeout(LINE_S):
            return await self._process.stdout.readline()


class HttpNodes(NodesWorld):
    """Three nodes that listen on HTTP."""

    def __init__(self, directory: Path, store: str) -> None:
        super().__init__(directory, store)
        self._http = [f"127.0.0.1:{port}" for port in free_ports(3)]

    @property
    def addresses(self) -> str:
        return f"http://{','.join(self._http)}"

    async def address_of_a_standby(self) -> str:
        leader = await soon(self.leader)
        return f"http://{self._http[leader % len(self._http)]}"

    def _listeners(self, number: int) -> tuple[str, ...]:
        address = self._http[number - 1]
        return ("--http", address, "--advertise", f"http={address}")


@pytest.fixture(scope="module")
def store() -> Iterator[URL]:
    """A server whose commits are durable."""
    with postgres_server(durable=True) as url:
        yield url


@contextlib.asynccontextmanager
async def three_nodes(directory: Path, store: URL) -> AsyncIterator[HttpNodes]:
    """Run three nodes; at the end their folders are equal."""
    world = HttpNodes(directory, text_of(store))
    try:
        await world.serve()
        yield world
        await soon(world.folders_are_equal)
    finally:
        await world.end()


async def test_client_keeps_its_promises_on_one_service(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "shop")
    with serving(tmp_path / "log", "--http", "127.0.0.1:0") as served:
        async with Program.running(served.http) as program:
            await program.rounds(2 * ROUNDS)
            await program.end()
    check(program, tmp_path / "log")


async def test_client_keeps_its_promises_through_fail_overs(tmp_path: Path, store: URL) -> None:
    async with three_nodes(tmp_path, store) as nodes, Program.running(nodes.addresses) as program:
        await through_fail_overs(nodes, program, times=1)
    check(program, nodes.log)


@pytest.mark.heavy
async def test_client_that_knows_a_standby_follows_each_leader(tmp_path: Path, store: URL) -> None:
    async with three_nodes(tmp_path, store) as nodes:
        standby = await nodes.address_of_a_standby()
        async with Program.running(standby) as program:
            await through_fail_overs(nodes, program, times=5)
    check(program, nodes.log)


async def through_fail_overs(nodes: HttpNodes, program: Program, *, times: int) -> None:
    """Let the leader hand over, and kill the next one, while the program goes on."""
    for _ in range(times):
        await program.rounds(ROUNDS)
        leader = await soon(nodes.leader)
        await program.rounds_until(asyncio.create_task(nodes.hand_over()))
        await soon(partial(nodes.other_leader, leader))
        await program.rounds(ROUNDS)
        await program.rounds_until(asyncio.create_task(nodes.fail_over(signal.SIGKILL)))
    await program.rounds(ROUNDS)
    await program.end()


def check(program: Program, log: Path) -> None:
    """Check what the program found, and that each note is in the log once, in order."""
    assert program.found == [expected(number) for number in range(len(program.found))]
    with LogReader.open(log) as reader:
        rows = [row.payload for batch in reader.batches() for row in batch.rows]
    texts = [record.text for record in rows if isinstance(record, NoteRecord)]
    assert texts == [str(number) for number in range(len(program.found))]
