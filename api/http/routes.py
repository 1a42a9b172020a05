"""The HTTP application: routes made from the tables, and error responses for all routes.

Commands, appends, questions that are answered with one document, and the page's files are found by
path alone. Litestar, which routes all other requests, would take a tenth of the time of an append
and a quarter of that of a read.
"""

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

import msgspec
from litestar import Litestar, Request, Response, get
from litestar.exceptions import HTTPException
from msgspec.structs import replace
from prometheus_client import CONTENT_TYPE_LATEST

from api.http import (
    commands,
    events,
    first_look,
    growth,
    metrics,
    openapi,
    operations,
    page_files,
    questions,
    web_page,
)
from api.http.admission import Paths
from api.http.commands import Answer
from api.http.compression import compressed, compressing
from api.http.limits import BODY_SIZE_BYTES_MAX, RECORDS_SIZE_BYTES_MAX
from api.http.page_files import PageFiles
from api.http.problems import Problem, mistake, problem, problem_of
from api.http.questions import HTML, LINES
from api.http.request import (
    JSON,
    MEMORY,
    BodyMemory,
    Reply,
    announced_size,
    call_of,
    received_body,
    reply_with,
    send_reply,
    shared_state,
)
from controller.authorization.authorizer import CLUSTER, Operation
from records.errors import MetadataLogError, Outcome

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_logger = logging.getLogger(__name__)

_Request = Request[Any, Any, Any]

R = TypeVar("R", Reply, Reply | None)

_WORDS = {404: "there is no such path; GET /v1 lists all operations"}
_CODES = {404: "NO_SUCH_PATH", 405: "METHOD_NOT_ALLOWED", 413: "MESSAGE_TOO_LARGE"}
"""Codes of the errors that the routing finds, by status."""


_READ_ONLY = problem(
    403, "READ_ONLY", "logs are only shown here; change this one where `metalog serve` runs for it"
)

_APPEND_PATH = questions.path_of(commands.APPEND)

_OPEN = frozenset({"/health", "/ready", *page_files.FILES})
"""Paths without authentication: load balancers ask for the health without a token, and the page,
once loaded, asks its reader for a token."""

PATHS = Paths(
    all=frozenset(
        {
            *questions.ROUTES,
            *commands.ROUTES,
            *_OPEN,
            *(_APPEND_PATH, events.PATH, metrics.PATH, openapi.PATH, operations.PATH),
            *(growth.PATH, web_page.COLUMNS_PATH, first_look.PATH),
        }
    ),
    open=_OPEN,
    watched=_OPEN | {metrics.PATH},
    endless=frozenset({events.PATH, growth.PATH}),
    forms={**dict.fromkeys(commands.ROUTES, JSON), _APPEND_PATH: LINES},
)

_Handler = Callable[["HTTPScope"], Answer]
"""Checks a request except its body, and returns the function that answers it."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The response to a health check: the status is running or ready."""

    status: str


class Post(msgspec.Struct, frozen=True):
    """The handler of the requests for a path, whose bodies have at most `size_max` bytes."""

    handle: _Handler
    size_max: int


class ByPath:
    """Answers commands, appends, and questions with one document; passes other requests on."""

    def __init__(self, posts: Mapping[str, Post], others: "ASGIApp") -> None:
        self._posts, self._others = posts, others

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        found = cast("HTTPScope", scope)
        if found["method"] == "GET" and found["path"] in questions.DOCUMENTS:
            answer = await _or_problem(questions.document(found), found)
            await send_reply(await compressed(answer, found), found)
            return
        post = self._posts.get(found["path"])
        if post is None:
            await self._others(scope, receive, compressing(scope, send))
            return
        if shared_state(found).is_read_only:
            await send_reply(reply_with(_READ_ONLY), found)
            return
        reply = await _reply(post, found, receive)
        if reply is not None:
            await send_reply(reply, found)


@functools.cache
def make_app() -> "ASGIApp":
    """Return the application, which answers all requests that were admitted.

    It has no state of its own, so all services of a process share it.
    """
    others = Litestar(
        [
            get(list(questions.ROUTES))(questions.ask),
            get(events.PATH)(events.follow),
            get("/health")(health),
            get("/ready")(_ready),
            get(metrics.PATH)(_metrics),
            get(openapi.PATH)(_openapi),
            get(operations.PATH)(_operations),
            get(web_page.COLUMNS_PATH)(web_page.columns),
            get(first_look.PATH)(first_look.known),
            get(growth.PATH)(growth.follow),
        ],
        openapi_config=None,
        logging_config=None,
        exception_handlers=errors_handled(),
    )
    posts = dict.fromkeys(commands.ROUTES, Post(commands.change, BODY_SIZE_BYTES_MAX))
    posts[_APPEND_PATH] = Post(commands.append, RECORDS_SIZE_BYTES_MAX)
    return PageFiles(page_files.FILES, ByPath(posts, others))


def errors_handled() -> "dict[int | type[Exception], Callable[[_Request, Any], Response[Any]]]":
    """Return the handlers of errors, by class or status; the same for every application."""
    return {MetadataLogError: _refused, HTTPException: _unrouted, Exception: _mistake}


async def health(request: _Request) -> Response[bytes]:
    """Return 200, which shows that the process can answer."""
    return Response(msgspec.json.encode(Health(status="running")), media_type=JSON)


async def _ready(request: _Request) -> Response[bytes]:
    """Return 200 if the log is loaded and this process is its writer, or only shows the log."""
    shared = shared_state(request.scope)
    if shared.service is None:
        return _problem_response(problem(503, "UNAVAILABLE", str(shared.unavailable())))
    if not shared.service.is_ready:
        return _problem_response(problem(503, "NOT_CONTROLLER", shared.service.why_inactive))
    return Response(msgspec.json.encode(Health(status="ready")), media_type=JSON)


async def _metrics(request: _Request) -> Response[bytes]:
    """Return the metrics; the caller needs the right to describe the cluster.

    Raises:
        RequestError: CLUSTER_AUTHORIZATION_FAILED.
        UnavailableError: the log is being loaded.
    """
    call = call_of(request.scope)
    call.service.access(call.caller).require(Operation.DESCRIBE, CLUSTER)
    content = await shared_state(request.scope).metrics.text()
    # As a media type, Litestar would add the charset once more.
    return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _openapi(request: _Request) -> Response[bytes]:
    """Return the OpenAPI document."""
    is_read_only = shared_state(request.scope).is_read_only
    return Response(openapi.openapi(is_read_only=is_read_only), media_type=JSON)


async def _operations(request: _Request) -> Response[str]:
    """Return the HTML page that lists all operations."""
    is_read_only = shared_state(request.scope).is_read_only
    return Response(operations.page(is_read_only=is_read_only), media_type=HTML)


def _problem_response(found: Problem) -> Response[bytes]:
    reply = reply_with(found)
    return Response(
        reply.content,
        status_code=reply.status,
        media_type=reply.media_type,
        headers=reply.headers,
    )


def _refused(request: _Request, error: MetadataLogError) -> Response[bytes]:
    return _problem_response(problem_of(error))


def _unrouted(request: _Request, error: HTTPException) -> Response[bytes]:
    status = error.status_code
    code, words = _CODES.get(status, "INVALID_REQUEST"), _WORDS.get(status, error.detail)
    headers = error.headers or {}
    if "allow" in headers:
        words = f"this path takes {headers['allow']}"
    response = _problem_response(problem(status, code, words))
    response.headers.update(headers)
    return response


def _mistake(request: _Request, error: Exception) -> Response[bytes]:
    _logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _problem_response(mistake())


def _at_leader(scope: "HTTPScope") -> str | None:
    """Return a request's URL at the node that leads; None if the leader's address is unknown."""
    service = shared_state(scope).service
    address = None if service is None else service.leader_addresses.get("http")
    if address is None:
        return None
    base = address if "://" in address else f"{scope['scheme']}://{address}"
    query = scope["query_string"].decode("latin-1")
    return f"{base}{quote(scope['path'])}{'?' if query else ''}{query}"


async def _reply(post: Post, scope: "HTTPScope", receive: "Receive") -> Reply | None:
    """Return the reply to a request, which may report an error; None if the client disconnects."""
    if scope["method"] != "POST":
        found = problem(405, "METHOD_NOT_ALLOWED", "this path takes POST")
        return reply_with(found, {"Allow": "POST"})
    return await _or_problem(_received(post, scope, receive), scope)


async def _received(post: Post, scope: "HTTPScope", receive: "Receive") -> Reply | None:
    # A caller without rights is refused before the body takes any memory.
    answer = post.handle(scope)
    memory: BodyMemory = scope["state"][MEMORY]
    async with memory.reserved(announced_size(scope, post.size_max)) as part_received:
        body = await received_body(receive, post.size_max, part_received)
        return None if body is None else await answer(body)


async def _or_problem(replying: Awaitable[R], scope: "HTTPScope") -> R | Reply:
    """Return a reply; if there is an error, the reply that reports it."""
    try:
        return await replying
    except MetadataLogError as error:
        found = problem_of(error)
        is_elsewhere = found.code == "NOT_CONTROLLER" and error.outcome is Outcome.NOTHING
        may_go_on = is_elsewhere and scope["method"] == "POST"
        if may_go_on and (leader := _at_leader(scope)):
            return reply_with(replace(found, status=307), {"Location": leader})
        return reply_with(found)
    except Exception as error:
        _logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
        return reply_with(mistake())
