"""A service over HTTP in this process."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import pytest

from api.http.options import HttpOptions
from tests.api.kafka.servers import Server, server

LOOPBACK = HttpOptions(host="127.0.0.1", port=0)


class Web(msgspec.Struct, frozen=True):
    """A service, and a client of its HTTP listener."""

    at: Server
    http: httpx.AsyncClient


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Web]:
    """A service of a new log, with a broker."""
    async with server(tmp_path, http=LOOPBACK) as at:
        await at.register(1)
        async with httpx.AsyncClient(base_url=at.http_url, timeout=30) as http:
            yield Web(at, http)
