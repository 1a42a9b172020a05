"""A service in a thread of its own, and its web page in a browser."""

import asyncio
import contextlib
import hashlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Page

from api.http import growth
from api.http.options import HttpOptions
from tests.api.kafka.servers import Server, server
from tests.api.report.conftest import SHOWN
from tests.browser import Pages
from tests.forked_commands import METALOG


class Served:
    """A running service with one broker, and a client of its HTTP listener."""

    def __init__(self, http: httpx.Client, at: Server, portal: BlockingPortal) -> None:
        self.http = http
        self._at = at
        self._portal = portal

    @property
    def url(self) -> str:
        """The URL of the service."""
        return str(self.http.base_url).rstrip("/")

    def create(self, *names: str) -> int:
        """Create topics; return the last offset."""
        body = {"topics": [{"name": name, "partitions": 2} for name in names]}
        answer = self.http.post("/v1/topics/create", json=body)
        assert answer.status_code == 200, answer.text
        end: int = answer.json()["log_end"]
        return end - 1

    def wait_for_streams(self, count: int) -> None:
        """Wait until `count` event streams are open."""

        async def wait() -> None:
            async with asyncio.timeout(60):
                while self._at.service.feed.streams != count:
                    await asyncio.sleep(0.01)

        self._portal.call(wait)

    @contextlib.contextmanager
    def without_token(self, token: str) -> Iterator[None]:
        """Forget a token inside the `with` block, as after SIGHUP."""
        room, digest = self._at.http_state, hashlib.sha256(token.encode()).digest()
        before = room.listener
        tokens = {known: name for known, name in before.tokens.items() if known != digest}
        assert len(tokens) == len(before.tokens) - 1
        room.listener = msgspec.structs.replace(before, tokens=tokens)
        self._portal.call(self._at.service.feed.wake)
        try:
            yield
        finally:
            room.listener = before

    def cut_streams(self) -> None:
        """Break the connections of the pages' streams, without an end of the responses."""
        self._portal.call(self._at.cut_connections, growth.PATH)


@contextlib.contextmanager
def served(
    directory: Path, http: HttpOptions, token: str | None = None, **options: Any
) -> Iterator[Served]:
    """Run a service on a log in `directory`; a new log gets a broker 1."""
    is_new = not (directory / "log").exists()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(server(directory, http=http, **options)) as at,
    ):
        if is_new:
            portal.call(at.register, 1)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=at.http_url, timeout=30, headers=headers) as client:
            yield Served(client, at, portal)


@contextlib.contextmanager
def viewed(*logs: Path, metalog: Sequence[str] = METALOG) -> Iterator[str]:
    """Run `metalog view` on logs; yields its URL."""
    command = [*metalog, "view", *map(str, logs), "--http", "127.0.0.1:0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield str(json.loads(process.stdout.readline())["http"])
        finally:
            process.terminate()


class Visitor:
    """Opens the web page of services; records the requests and errors of the pages."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self.asked, self.errors = pages.asked, pages.errors

    @contextlib.contextmanager
    def visit(
        self, url: str, *, width: int = 1000, scheme: Any = "light", until: str = SHOWN
    ) -> Iterator[Page]:
        """Open a URL in a new page, and wait until an element is present."""
        with self._pages.page(width=width, scheme=scheme) as page:
            page.goto(url)
            page.wait_for_selector(until)
            yield page
