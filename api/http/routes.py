"""The HTTP application: routes made from the tables, and error responses for all routes."""

import functools
import logging
from typing import Any

import msgspec
from litestar import Litestar, Request, Response, get
from litestar.exceptions import HTTPException
from prometheus_client import CONTENT_TYPE_LATEST

from api.http import commands, events, growth, metrics, openapi, operations, questions, web_page
from api.http.limits import BODY_SIZE_BYTES_MAX, RECORDS_SIZE_BYTES_MAX
from api.http.posting import Post, Posts
from api.http.problems import Problem, mistake, problem, problem_of
from api.http.questions import HTML
from api.http.replies import JSON, reply_with
from api.http.request import asked_of, shared_state
from controller.authorization.authorizer import CLUSTER, Operation
from records.errors import MetadataLogError

_logger = logging.getLogger(__name__)

_Request = Request[Any, Any, Any]

_WORDS = {404: "there is no such path; GET /v1 lists all operations"}
_CODES = {404: "NO_SUCH_PATH", 405: "METHOD_NOT_ALLOWED", 413: "MESSAGE_TOO_LARGE"}
"""Names of the errors that the routing finds."""


PATHS = frozenset(
    {
        *questions.ROUTES,
        *commands.ROUTES,
        questions.path_of(commands.APPEND),
        *web_page.FILES,
        *("/health", "/ready"),
        *(events.PATH, metrics.PATH, openapi.PATH, operations.PATH, growth.PATH),
        web_page.COLUMNS_PATH,
    }
)
"""All paths that exist."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The response to a health check: the status is running or ready."""

    status: str


@functools.cache
def make_app() -> Posts:
    """Return the application, which answers all requests that the gate accepts.

    It has no state of its own, so all services of a process share it.
    """
    others = Litestar(
        [
            get(list(questions.ROUTES))(questions.ask),
            get(events.PATH)(events.follow),
            get("/health")(_health),
            get("/ready")(_ready),
            get(metrics.PATH)(_metrics),
            get(openapi.PATH)(_openapi),
            get(operations.PATH)(_operations),
            get(list(web_page.FILES))(web_page.serve_file),
            get(web_page.COLUMNS_PATH)(web_page.columns),
            get(growth.PATH)(growth.follow),
        ],
        openapi_config=None,
        logging_config=None,
        exception_handlers={
            MetadataLogError: _refused,
            HTTPException: _unrouted,
            Exception: _mistake,
        },
    )
    posts = dict.fromkeys(commands.ROUTES, Post(commands.change, BODY_SIZE_BYTES_MAX))
    append = questions.path_of(commands.APPEND)
    return Posts({**posts, append: Post(commands.append, RECORDS_SIZE_BYTES_MAX)}, others)


async def _health(request: _Request) -> Response[bytes]:
    """Return 200, which shows that the process can answer."""
    return Response(msgspec.json.encode(Health(status="running")), media_type=JSON)


async def _ready(request: _Request) -> Response[bytes]:
    """Return 200 if requests can be decided: the log is loaded and this process is its writer."""
    shared = shared_state(request.scope)
    if shared.service is None:
        return _problem_response(problem(503, "UNAVAILABLE", "the log is being loaded"))
    if not shared.service.is_active:
        return _problem_response(problem(503, "NOT_CONTROLLER", "this process lost the log"))
    return Response(msgspec.json.encode(Health(status="ready")), media_type=JSON)


async def _metrics(request: _Request) -> Response[bytes]:
    """Return the metrics; the caller needs the right to describe the cluster.

    Raises:
        RequestError: CLUSTER_AUTHORIZATION_FAILED.
        UnavailableError: the log is being loaded.
    """
    asked = asked_of(request.scope)
    asked.service.access(asked.caller).require(Operation.DESCRIBE, CLUSTER)
    content = await shared_state(request.scope).metrics.text()
    # As a media type, Litestar would add the charset once more.
    return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _openapi(request: _Request) -> Response[bytes]:
    """Return the OpenAPI document."""
    return Response(openapi.openapi(), media_type=JSON)


async def _operations(request: _Request) -> Response[str]:
    """Return the HTML page that lists all operations."""
    return Response(operations.page(), media_type=HTML)


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
