"""Requests with a body: commands and appends, whose handlers take bytes and return a reply.

The handlers are found by path alone. Litestar, which routes all other requests, would take a tenth
of the time of an append.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from api.http.callers import headers_of
from api.http.problems import mistake, problem, problem_of
from api.http.replies import Reply, reply_with, send_reply
from records.errors import MetadataLogError, RequestError

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_logger = logging.getLogger(__name__)

Handler = Callable[["Scope", bytes], Awaitable[Reply]]


class Post(msgspec.Struct, frozen=True):
    """The handler of the requests for a path.

    `handle` takes the scope of a request and its body, of at most `size_max` bytes.
    """

    handle: Handler
    size_max: int


class Posts:
    """Answers requests for the paths of commands and appends; passes other requests on."""

    def __init__(self, posts: Mapping[str, Post], others: "ASGIApp") -> None:
        self._posts, self._others = posts, others

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        post = self._posts.get(cast("HTTPScope", scope)["path"])
        if post is None:
            await self._others(scope, receive, send)
            return
        reply = await _reply(post, cast("HTTPScope", scope), receive)
        if reply is not None:
            await send_reply(reply, scope)


async def _reply(post: Post, scope: "HTTPScope", receive: "Receive") -> Reply | None:
    """Return the reply to a request, which may report an error; None if the client disconnects."""
    if scope["method"] != "POST":
        found = problem(405, "METHOD_NOT_ALLOWED", "this path takes POST")
        return reply_with(found, {"Allow": "POST"})
    try:
        body = await _body(scope, receive, post.size_max)
        return None if body is None else await post.handle(scope, body)
    except MetadataLogError as error:
        return reply_with(problem_of(error))
    except Exception as error:
        _logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
        return reply_with(mistake())


async def _body(scope: "HTTPScope", receive: "Receive", size_max: int) -> bytes | None:
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
