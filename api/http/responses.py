"""Responses in few writes: a reply goes out whole, a stream's head with its first part."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec

from api.http.metrics import STATUS
from api.http.problems import MEDIA_TYPE, Problem, headers_of

JSON = "application/json"

GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]
"""Headers of every answer: pages of others must not show or embed it."""

SEND_WHOLE = "send_whole"
"""Where a request's state holds the function of its connection that sends a whole reply."""

SendWhole = Callable[[bytes, bytes], Awaitable[None]]
"""Sends a head, without the empty line at its end, and a body."""


class Reply(msgspec.Struct, frozen=True):
    """The response to a request."""

    content: bytes
    status: int = 200
    media_type: str = JSON
    headers: Mapping[str, str] = {}


def reply_with(found: Problem, headers: Mapping[str, str] = {}) -> Reply:
    """Return the reply that reports a problem, with `headers` and those it requires."""
    headers = {**headers_of(found), **headers}
    return Reply(msgspec.json.encode(found), found.status, MEDIA_TYPE, headers)


async def send_reply(reply: Reply, scope: Mapping[str, Any]) -> None:
    """Send the reply to the request of this scope."""
    send_whole: SendWhole = scope["state"][SEND_WHOLE]
    scope["state"][STATUS] = reply.status
    head = _head(reply.status, reply.media_type) + b"content-length: %d\r\n" % len(reply.content)
    for name, value in reply.headers.items():
        head += f"{name.lower()}: {value}\r\n".encode()
    await send_whole(head, reply.content)


@lru_cache(64)
def _head(status: int, media_type: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(),
        *[b"%b: %b" % header for header in GUARDS],
        f"content-type: {media_type}".encode(),
    ]
    return b"\r\n".join([*lines, b""])


@lru_cache(maxsize=1)
def http_date(time_s: int) -> bytes:
    """Return a time, s since 1970, as in the header Date. Source: RFC 9110, 6.6.1 and 5.6.7."""
    return formatdate(time_s, usegmt=True).encode()


class AnswerWriter(asyncio.Transport):
    """The transport of a connection, for one response.

    The head is sent together with the next part of the response, or alone if none is written before
    the next turn of the event loop.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[["AnswerWriter"], None],
        *,
        has_chunks: bool,
    ) -> None:
        """Create the writer of one response.

        Args:
            close: Called when the response is closed; ends the connection.
            has_chunks: False for a client of HTTP/1.0, to which the end of the connection marks the
                end of the body.
        """
        super().__init__()
        self._close = close
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._is_begun = False
        self._has_chunks = has_chunks
        self._is_unchunked = False

    def write(self, content: bytes | bytearray | memoryview) -> None:
        if self._is_unchunked:
            content = _without_size(bytes(content))
        if not self._is_begun:
            self._is_begun, self._head = True, bytes(content)
            if not self._has_chunks:
                self._head = self._head.replace(_CHUNKED, b"\r\n", 1)
                self._is_unchunked = len(self._head) < len(content)
            self._loop.call_soon(self.flush)
        elif self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head + content)
        else:
            self._transport.write(content)

    def flush(self) -> None:
        """Send the bytes that wait for the next part of the response."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self.flush()
        self._close(self)


_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"


def _without_size(written: bytes) -> bytes:
    """Return the content of one write of uvicorn, without the framing of chunks."""
    size, _, rest = written.partition(b"\r\n")
    return rest[: int(size, 16)] if size else b""
