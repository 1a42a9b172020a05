"""Requests with a body: commands and appends, whose handlers take bytes and return a reply.

The handlers are found by path alone. Litestar, which routes all other requests, would take a tenth
of the time of an append.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, cast

import msgspec

from api.http.problems import mistake, problem, problem_of
from api.http.replies import Reply, reply_with, send_reply
from api.http.request_body import MEMORY, BodyMemory, announced_size, received_body
from records.errors import MetadataLogError

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_logger = logging.getLogger(__name__)

Answer = Callable[[bytes], Awaitable[Reply]]
"""Takes the body of a request, and returns the reply."""

Handler = Callable[["HTTPScope"], Answer]
"""Checks all of a request but its body, and returns what answers it."""


class Post(msgspec.Struct, frozen=True):
    """The handler of the requests for a path, whose bodies have at most `size_max` bytes."""

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
        # A caller without rights is refused before the body takes any memory.
        answer = post.handle(scope)
        memory: BodyMemory = scope["state"][MEMORY]
        async with memory.reserved(announced_size(scope, post.size_max)) as part_received:
            body = await received_body(receive, post.size_max, part_received)
            return None if body is None else await answer(body)
    except MetadataLogError as error:
        return reply_with(problem_of(error))
    except Exception as error:
        _logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
        return reply_with(mistake())
