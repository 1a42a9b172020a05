"""`metalog view` in a process of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.services import http_url
from tests.stories.processes import Process


class View(msgspec.Struct, frozen=True):
    """A running view, and a client of it."""

    process: Process
    http: httpx.AsyncClient

    @property
    def url(self) -> str:
        return str(self.http.base_url)


Viewed = Callable[..., Awaitable[View]]


async def until_read(http: httpx.AsyncClient) -> None:
    """Wait until no log is still being read: a view listens before."""
    while "is being read" in (await http.get("/ready")).text:
        await asyncio.sleep(0.02)


@pytest.fixture
async def viewed(started: list[Process], tmp_path: Path) -> AsyncIterator[Viewed]:
    """Starts views, which are ended."""
    clients: list[httpx.AsyncClient] = []

    async def view(*arguments: object) -> View:
        process = await Process.start(tmp_path / f"view-{len(started)}.txt", "view", *arguments)
        started.append(process)
        await process.is_ready()
        http = httpx.AsyncClient(base_url=http_url(process.ready["http"]), timeout=60, verify=False)
        clients.append(http)
        if "required" not in arguments:  # of those who ask, a certificate
            await until_read(http)
        return View(process, http)

    yield view
    for client in clients:
        await client.aclose()
