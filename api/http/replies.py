"""Replies that are sent as a whole: head and body in one write, without ASGI's messages."""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec

from api.http.problems import MEDIA_TYPE, Problem, headers_of
from api.http.request_metrics import STATUS

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
