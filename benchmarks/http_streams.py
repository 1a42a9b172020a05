"""Minimal HTTP/1.1 clients for benchmarks, used for our service and for etcd's JSON gateway.

A usual Python client costs as much as the server under test; these clients do next to nothing.
"""

import asyncio
import base64
import json
import time
from collections.abc import Iterator


class Poster(asyncio.Protocol):
    """A connection that sends bodies, each after the answer to the previous one."""

    def __init__(self, path: str, media_type: str, method: str) -> None:
        self._head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\n"
            "Content-Length: %d\r\n\r\n"
        )
        self._answer = b""
        self._bodies: Iterator[str] = iter(())
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport

    @classmethod
    async def connect(
        cls, host: str, port: int, path: str, media_type: str, method: str = "POST"
    ) -> "Poster":
        """Connect to a server."""
        loop = asyncio.get_running_loop()
        _, found = await loop.create_connection(lambda: cls(path, media_type, method), host, port)
        return found

    async def post(self, bodies: Iterator[str]) -> None:
        """Send all bodies, one after the other."""
        self._bodies, self._done = bodies, asyncio.get_running_loop().create_future()
        self._next()
        await self._done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator:
            return
        _, _, size = head.lower().partition(b"content-length:")
        if len(body) < int(size.partition(b"\r\n")[0]):
            return
        answer, self._answer = self._answer, b""
        if not answer.startswith(b"HTTP/1.1 200 "):
            self._done.set_exception(RuntimeError(answer.decode()))
            return
        self._next()

    def _next(self) -> None:
        body = next(self._bodies, None)
        if body is None:
            self._done.set_result(None)
        else:
            self._transport.write((self._head % len(body) + body).encode())

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(RuntimeError("the server disconnected"))

    def close(self) -> None:
        """Disconnect."""
        self._done.cancel()
        self._transport.close()


class Arrivals:
    """The times at which a message arrives at each of many subscribers."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.at_s: list[float] = []
        self._all: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def add(self) -> None:
        """Record the arrival at one subscriber."""
        self.at_s.append(time.perf_counter())
        if len(self.at_s) == self._count:
            self._all.set_result(None)

    async def all(self) -> list[float]:
        """Wait until the message has arrived at all subscribers; return the times, and reset."""
        await self._all
        self._all = asyncio.get_running_loop().create_future()
        found, self.at_s = self.at_s, []
        return found


class Subscriber(asyncio.Protocol):
    """A connection that sends one request, and records an arrival for each `mark` in the answer."""

    def __init__(self, request: bytes, begins: bytes, mark: bytes, arrivals: Arrivals) -> None:
        self._request, self._begins, self._mark = request, begins, mark
        self._arrivals = arrivals
        self._text = b""
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.begun.done():
            for _ in range(data.count(self._mark)):
                self._arrivals.add()
            return
        self._text += data
        if self._begins in self._text:
            self.begun.set_result(None)


def base64_text(content: bytes) -> str:
    """Return bytes in Base64, as etcd's gateway expects them."""
    return base64.b64encode(content).decode()


def json_request(path: str, body: object) -> bytes:
    """Return the bytes of an HTTP request that posts a JSON document."""
    content = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n"
    return (head + content).encode()
