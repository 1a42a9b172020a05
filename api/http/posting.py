"""Requests with a body: commands and appends, whose handlers take bytes and return a reply.

Litestar routes these requests and handles their errors. Litestar's request and response objects are
not used: creating them would cost as much as all the rest of an append.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from litestar import asgi
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler

from api.http.asking import JSON
from api.http.callers import headers_of
from api.http.problems import MEDIA_TYPE, Problem
from api.http.problems import headers_of as headers_of_status
from records.errors import RequestError

if TYPE_CHECKING:
    from litestar.types import HTTPScope, Receive, Scope, Send


class Reply(msgspec.Struct, frozen=True):
    """The response of a handler."""

    content: bytes
    status: int = 200
    media_type: str = JSON
    headers: Mapping[str, str] = {}


Handler = Callable[["Scope", bytes], Awaitable[Reply]]


def reply_with(found: Problem) -> Reply:
    """Return the reply that reports a problem."""
    headers = headers_of_status(found.status)
    return Reply(msgspec.json.encode(found), found.status, MEDIA_TYPE, headers)


def post(paths: list[str], handle: Handler, size_max: int) -> ASGIRouteHandler:
    """Return a route that passes POST requests for these paths to a handler.

    Args:
        handle: Takes the scope of a request and its body.
        size_max: Maximum size of the body in bytes.
    """

    async def route(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if cast("HTTPScope", scope)["method"] != "POST":
            raise MethodNotAllowedException(headers={"Allow": "POST"})
        body = await _body(scope, receive, size_max)
        if body is not None:
            await _send(await handle(scope, body), send)

    return asgi(paths, copy_scope=False)(route)


async def _body(scope: "Scope", receive: "Receive", size_max: int) -> bytes | None:
    """Return the body of a request; None if the client disconnects.

    Raises:
        RequestError: MESSAGE_TOO_LARGE.
    """
    if int(headers_of(scope).get("content-length", 0)) > size_max:
        raise _too_large(size_max)
    body = b""
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message["body"]
        body += part
        if len(body) > size_max:
            raise _too_large(size_max)
        if not message["more_body"]:
            return body


def _too_large(size_max: int) -> RequestError:
    return RequestError("MESSAGE_TOO_LARGE", f"a body of this path has at most {size_max} bytes")


async def _send(reply: Reply, send: "Send") -> None:
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"content-length", b"%d" % len(reply.content)),
        *[(name.lower().encode(), value.encode()) for name, value in reply.headers.items()],
    ]
    start: Any = {"type": "http.response.start", "status": reply.status, "headers": headers}
    end: Any = {"type": "http.response.body", "body": reply.content}
    await send(start)
    await send(end)
