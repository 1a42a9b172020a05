"""Checks before a request is routed: its origin, its authentication, and the type of its body.

Any page shown in a browser can make the browser send requests to loopback. So the Host header must
be an IP address, localhost, or the listener's own host name (against DNS rebinding; any Host is
accepted with TLS, with tokens, and on a Unix socket), and the request must not come from another
page's origin (against cross-site requests).
"""

import asyncio
import contextlib
import ipaddress
import re
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from api.http.metrics import OTHER, STATUS, noting_status
from api.http.problems import Problem, problem
from api.http.request import (
    IS_RESERVED,
    PRINCIPAL,
    SHARED,
    TRACE,
    headers_of,
    reply_with,
    send_reply,
)
from api.http.shared_state import Listener, SharedState
from api.http.tokens import principal_of
from controller.authorization.caller import Authentication, Caller

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

WEB_PAGE = "/"
"""Path of the web page."""

_CLIENT_ID_CHARACTERS_MAX = 100

_METHODS = {"GET", "HEAD", "POST"}
"""Methods that metrics name; clients could invent any number of others."""

_SLASHES = re.compile("//+")
"""Consecutive slashes count as one, as for Litestar, so that all checks see the same path."""

_UNKNOWN = "Authorization: Bearer TOKEN is not a known token"
_NO_TOKEN = "send the header Authorization: Bearer TOKEN"
_TAKES_NONE = "this service has no tokens (--http-tokens); leave the header Authorization out"

_FULL = problem(503, "UNAVAILABLE", "all connections are in use; try again later")


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of paths that the checks use.

    Attributes:
        all: All paths that exist.
        open: Paths that need no authentication, because they reveal nothing about the cluster.
        watched: Paths that are answered even if all connections are in use.
        endless: Paths whose answers never end, so that a HEAD request would wait forever.
        forms: The content type of the body, for each path that takes one.
    """

    all: frozenset[str]
    open: frozenset[str]
    watched: frozenset[str]
    endless: frozenset[str]
    forms: Mapping[str, str]


class Admission:
    """Passes a request to the application, or refuses it."""

    def __init__(self, app: "ASGIApp", paths: Paths, shared: SharedState) -> None:
        self._app, self._paths = app, paths
        self._shared = shared

    async def __call__(self, given: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        begun_s = time.monotonic()
        scope = cast("HTTPScope", given)  # the listener ignores Upgrade
        scope["path"] = _SLASHES.sub("/", scope["path"]).rstrip("/") or "/"
        method = scope["method"] if scope["method"] in _METHODS else OTHER
        tracer = self._shared.listener.tracer
        trace = None if tracer is None else tracer.begin(headers_of(scope))
        if trace is not None:
            scope["state"][TRACE] = trace
        try:
            await self._pass(scope, receive, noting_status(scope, send))
        finally:
            self._shared.requests.answered(scope, method, begun_s)
            if tracer is not None and trace is not None:
                route = scope["path"] if scope["path"] in self._paths.all else OTHER
                tracer.end(trace, method, route, scope["state"].get(STATUS))

    async def _pass(self, scope: "HTTPScope", receive: "Receive", send: "Send") -> None:
        path = scope["path"]
        found = (
            (_FULL if scope["state"].get(IS_RESERVED) and path not in self._paths.watched else None)
            or refused_by_origin(self._shared.listener, scope)
            or _refused_by_coding(scope)
            or _refused_by_form(self._paths.forms.get(path), scope)
        )
        if found is not None:
            await _refuse(found, scope)
            return
        caller = authenticated(self._shared.listener, scope)
        if caller is None and path not in self._paths.open:
            await _refuse(_unauthenticated(self._shared.listener, scope), scope)
            return
        scope["state"]["caller"], scope["state"][SHARED] = caller, self._shared
        if scope["method"] == "HEAD" and path not in self._paths.endless:
            # Answered as GET; the connection leaves the body out. Source: RFC 9110, 9.3.2.
            scope = cast("HTTPScope", {**scope, "method": "GET"})
        # Cancelled when the service ends, with the connection: no mistake of the application.
        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, receive, send)


def _unauthenticated(listener: Listener, scope: "HTTPScope") -> Problem:
    """Return the problem of a request whose caller is not known."""
    is_given = "authorization" in headers_of(scope)
    why = _TAKES_NONE if not listener.tokens else _UNKNOWN if is_given else _NO_TOKEN
    return problem(401, "AUTHENTICATION_FAILED", why)


def _refused_by_coding(scope: "HTTPScope") -> Problem | None:
    """Return a problem if the body is compressed in transfer, else None.

    Source: RFC 9112, 6.1.
    """
    given = headers_of(scope).get("transfer-encoding", "chunked")
    if given.strip().lower() == "chunked":
        return None
    words = f"Transfer-Encoding {given!r} is not known here; send the body chunked or as it is"
    return problem(501, "UNSUPPORTED_TRANSFER_CODING", words)


def _refused_by_form(wanted: str | None, scope: "HTTPScope") -> Problem | None:
    """Return a problem if the body does not have the required content type, else None.

    A foreign web page cannot make a browser send the required types, unless the service permits it.
    """
    if scope["method"] != "POST" or wanted is None:
        return None
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


def refused_by_origin(listener: Listener, scope: Mapping[str, Any]) -> Problem | None:
    """Return a problem if the request may come from another site's page, else None."""
    headers = headers_of(scope)
    if not _names_one_host(scope):
        return problem(400, "INVALID_REQUEST", "the request must have exactly one Host header")
    host = headers.get("host", "")
    listening = listener.host or ""
    if _may_be_renamed(listener) and not _is_own_host(host, listening):
        return problem(421, "MISDIRECTED_REQUEST", f"Host {host!r} is no address of this service")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return problem(403, "CROSS_ORIGIN", f"a page of {origin!r} may not ask this service")
    is_own = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    if not is_own and not _follows_link(scope, headers):
        return problem(403, "CROSS_ORIGIN", "a page of another site may not ask this service")
    return None


def _may_be_renamed(listener: Listener) -> bool:
    """True if DNS rebinding (a foreign host name that resolves to this host) is possible.

    With TLS it is impossible, because the certificate does not match the foreign name; with tokens,
    because a foreign page does not know any token.
    """
    return listener.host is not None and not listener.has_tls and not listener.tokens


def _names_one_host(scope: Mapping[str, Any]) -> bool:
    """True if a request has one Host header; HTTP/1.0 may omit it. Source: RFC 9112, 3.2."""
    names: list[bytes] = [name for name, _ in scope["headers"]]
    count, version = names.count(b"host"), str(scope["http_version"])
    return count == 1 or (count == 0 and version == "1.0")


def _follows_link(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """True if the request opens the web page from a link on another page.

    That is harmless: the web page itself contains no data of a cluster.

    Source: Fetch Metadata Request Headers, 2.
    """
    return (
        scope["path"] == WEB_PAGE
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


@lru_cache(maxsize=32)
def _is_own_host(given: str, listening: str) -> bool:
    """True for an IP address, localhost, or the listener's own name.

    A foreign page cannot have any of these as its host.
    """
    try:
        name = urlsplit(f"//{given}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", listening.lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def authenticated(listener: Listener, scope: Mapping[str, Any]) -> Caller | None:
    """Return the caller of a request; None if authentication is required and has failed.

    A certificate takes precedence over a token. An unknown token always fails.
    """
    caller = _anonymous(listener, scope)
    principal = scope["state"].get(PRINCIPAL)
    if principal is not None:
        return replace(caller, principal=principal, authentication=Authentication.CERTIFICATE)
    given = headers_of(scope).get("authorization")
    if given is None:
        return None if listener.tokens else caller
    principal = principal_of(listener.tokens, given)
    if principal is None:
        return None
    return replace(caller, principal=principal, authentication=Authentication.BEARER)


def _anonymous(listener: Listener, scope: Mapping[str, Any]) -> Caller:
    client = scope.get("client")
    host, port = client if client and listener.host is not None else ("unix", None)
    agent = headers_of(scope).get("user-agent", "http")
    return Caller(client_id=agent[:_CLIENT_ID_CHARACTERS_MAX], host=host, port=port)
