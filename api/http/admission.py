"""Checks before a request is routed: its origin, its authentication, and the type of its body."""

import asyncio
import contextlib
import re
import time
from typing import TYPE_CHECKING, cast

from api.http import events, growth, web_page
from api.http.callers import (
    IS_RESERVED,
    Listener,
    authenticated,
    headers_of,
    refused_by_origin,
)
from api.http.commands import APPEND
from api.http.commands import ROUTES as COMMAND_ROUTES
from api.http.compression import compressing
from api.http.metrics import PATH as METRICS
from api.http.problems import Problem, problem
from api.http.questions import LINES, path_of
from api.http.replies import JSON, reply_with, send_reply
from api.http.request import SHARED
from api.http.request_metrics import OTHER, noting_status
from api.http.shared_state import SharedState

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_OPEN = {"/health", "/ready", *web_page.FILES}
"""Paths that need no authentication: they tell nothing of the cluster. Load balancers ask for the
process's health without a token; the page, once loaded, asks its reader for one."""

_ENDLESS = {events.PATH, growth.PATH}
"""Paths whose answers have no end: a HEAD of them would wait for it."""

_WATCHED = (*_OPEN, METRICS)
"""Paths that are answered also when all places are taken."""

_METHODS = {"GET", "HEAD", "POST"}
"""Methods that metrics name; clients could invent any number of others."""

_SLASHES = re.compile("//+")
"""These count as one slash, as they do for Litestar, so that all checks see the same path."""

_UNKNOWN = "Authorization: Bearer TOKEN is not a known token"
_NO_TOKEN = "send the header Authorization: Bearer TOKEN"
_TAKES_NONE = "this service has no tokens (--http-tokens); leave the header Authorization out"

_FULL = problem(503, "UNAVAILABLE", "all connections are in use; try again later")

_TAKE_BODIES = frozenset({*COMMAND_ROUTES, path_of(APPEND)})
"""Paths of commands; what is posted elsewhere is refused by the routing."""


class Gate:
    """Passes a request to the application, or refuses it."""

    def __init__(self, app: "ASGIApp", shared: SharedState) -> None:
        self._app = app
        self._shared = shared

    async def __call__(self, given: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        begun_s = time.monotonic()
        scope = cast("HTTPScope", given)  # the listener ignores Upgrade
        scope["path"] = _SLASHES.sub("/", scope["path"]).rstrip("/") or "/"
        method = scope["method"] if scope["method"] in _METHODS else OTHER
        try:
            await self._pass(scope, receive, noting_status(scope, send))
        finally:
            self._shared.requests.answered(scope, method, begun_s)

    async def _pass(self, scope: "HTTPScope", receive: "Receive", send: "Send") -> None:
        found = (
            _refused_by_place(scope)
            or refused_by_origin(self._shared.listener, scope)
            or _refused_by_coding(scope)
            or _refused_by_form(scope)
        )
        if found is not None:
            await _refuse(found, scope)
            return
        caller = authenticated(self._shared.listener, scope)
        if caller is None and scope["path"] not in _OPEN:
            await _refuse(_unauthenticated(self._shared.listener, scope), scope)
            return
        scope["state"]["caller"], scope["state"][SHARED] = caller, self._shared
        if scope["method"] == "HEAD" and scope["path"] not in _ENDLESS:
            # Answered as GET; the connection leaves the body out. Source: RFC 9110, 9.3.2.
            scope = cast("HTTPScope", {**scope, "method": "GET"})
        # Cancelled when the service ends, with the connection: no mistake of the application.
        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, receive, compressing(scope, send))


def _unauthenticated(listener: Listener, scope: "HTTPScope") -> Problem:
    """Return the problem of a request whose caller is not known."""
    is_given = "authorization" in headers_of(scope)
    why = _TAKES_NONE if not listener.tokens else _UNKNOWN if is_given else _NO_TOKEN
    return problem(401, "AUTHENTICATION_FAILED", why)


def _refused_by_place(scope: "HTTPScope") -> Problem | None:
    """Return a problem if a connection reserved for monitoring is used for another path."""
    is_reserved = scope["state"].get(IS_RESERVED)
    return _FULL if is_reserved and scope["path"] not in _WATCHED else None


def _refused_by_coding(scope: "HTTPScope") -> Problem | None:
    """Return a problem if the body is compressed in transfer, else None.

    Source: RFC 9112, 6.1.
    """
    given = headers_of(scope).get("transfer-encoding", "chunked")
    if given.strip().lower() == "chunked":
        return None
    words = f"Transfer-Encoding {given!r} is not known here; send the body chunked or as it is"
    return problem(501, "UNSUPPORTED_TRANSFER_CODING", words)


def _refused_by_form(scope: "HTTPScope") -> Problem | None:
    """Return a problem if the body does not have the required content type, else None.

    A foreign web page cannot make a browser send the required types, unless the service permits it.
    """
    if scope["method"] != "POST" or scope["path"] not in _TAKE_BODIES:
        return None
    wanted = LINES if scope["path"] == path_of(APPEND) else JSON
    given = headers_of(scope).get("content-type", "").partition(";")[0].strip().lower()
    if given == wanted:
        return None
    return problem(415, "UNSUPPORTED_MEDIA_TYPE", f"Content-Type must be {wanted}")


async def _refuse(found: Problem, scope: "HTTPScope") -> None:
    headers = {}
    if found.status in (400, 501, 503):
        # Others stay: a client that still sends its body would lose the answer with the connection.
        headers["Connection"] = "close"
    if found.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    await send_reply(reply_with(found, headers), scope)
