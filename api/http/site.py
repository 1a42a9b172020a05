"""Several logs below one address: each below `/logs/NAME`, and their list at the top."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import msgspec
from litestar import Litestar, Request, Response, get
from msgspec.structs import replace

from api.documents.logs import Place
from api.http import openapi
from api.http.admission import Admission, Paths
from api.http.page_files import LIST_FILES, PageFiles
from api.http.parameters import fields_of, read_request
from api.http.problems import Problem, problem_of
from api.http.questions import Answers, encoded
from api.http.questions import path_of as question_path
from api.http.request import JSON, query_of, reply_with, send_reply, shared_state
from api.http.routes import PATHS, Health, errors_handled, health, make_app
from api.http.shared_state import Listener, SharedState
from api.questions.joint import JOINT_QUESTIONS
from api.questions.summary import SUMMARY, ShowSummary, Summary
from api.questions.table import guard_of
from api.service.service import Service
from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.authorization.caller import Caller
from controller.wire import to_wire
from records.errors import MetadataLogError, RequestError, UnavailableError
from replay.image.metadata import MetadataImage

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

LOGS_PATH = "/v1/logs"

LIST = ""
"""Key of the list's state among the states of the logs."""

JOINT_ROUTES = {question_path(name): of for name, of in JOINT_QUESTIONS.items()}
"""The questions about several logs by path."""

_LOG = re.compile("/logs/([^/]+)(/.*)?")


class LogShown(msgspec.Struct, frozen=True, kw_only=True):
    """One of several logs that are shown.

    Attributes:
        path: Path of the log's page.
        log: The log as given on the command line; empty if the caller may not know it.
        cluster_id: None while the log cannot be read.
        log_end: The end of its records, exclusive; None while the log cannot be read.
        summary: None if there is an `error` instead.
        error: Why there is no summary.
    """

    name: str
    path: str
    log: str = ""
    cluster_id: str | None = None
    log_end: int | None = None
    summary: Summary | None = None
    error: Problem | None = None


class LogList(msgspec.Struct, frozen=True, kw_only=True):
    """All logs that are shown, in the order of the command line."""

    logs: tuple[LogShown, ...]


class SiteState(SharedState):
    """The state of the list of logs: the state of each log, and the newest summaries.

    Attributes:
        logs: The states of the logs by name.
    """

    def __init__(self, listener: Listener, logs: Mapping[str, SharedState]) -> None:
        super().__init__(listener, SITE_PATHS.all, log="LOG")
        self.logs = logs
        # By name, each with the end up to which it is.
        self._summaries: dict[str, tuple[int, Summary]] = {}

    async def shown(self, name: str, caller: Caller) -> LogShown:
        """Return the entry of a log in the list."""
        state = self.logs[name]
        found = LogShown(name=name, path=path_of(name))
        try:
            if state.service is None:
                raise state.unavailable()
            guard_of(SUMMARY).check_caller(state.service.access(caller))
            end = state.service.image.provenance.next_offset
            found = replace(
                found,
                log=state.log or "",
                cluster_id=state.service.settings.cluster_id,
                log_end=end,
            )
            return replace(found, summary=await self._summary(name, state.service, caller, end))
        except MetadataLogError as error:
            return replace(found, error=problem_of(error))

    def places(self, names: Sequence[str], caller: Caller) -> list[str]:
        """Return the places of logs that the caller may describe; without names, of all.

        Raises:
            RequestError: INVALID_REQUEST, there is no log of a name; CLUSTER_AUTHORIZATION_FAILED.
            UnavailableError: it is not known who may describe a log that cannot be read.
        """
        for name in names:
            if name not in self.logs:
                text = f"no log named {name!r} is shown; there are {', '.join(self.logs)}"
                raise RequestError("INVALID_REQUEST", text)
        found = [self.logs[name] for name in dict.fromkeys(names or self.logs)]
        for state in found:
            if state.service is not None:
                access = state.service.access(caller)
            elif state.authorizer is not None:
                access = Access(state.authorizer, MetadataImage.EMPTY, caller)
            else:
                raise state.unavailable()
            access.require(Operation.DESCRIBE, CLUSTER)
        return [state.log or "" for state in found]

    async def _summary(self, name: str, service: Service, caller: Caller, end: int) -> Summary:
        known = self._summaries.get(name)
        if known is None or known[0] != end:
            request = to_wire(ShowSummary())
            answers = Answers(self.documents, service, SUMMARY, request, "end", caller)
            known = self._summaries[name] = end, (await answers.whole())[0]
        return known[1]


def path_of(name: str) -> str:
    """Return the path of a log's page."""
    return f"/logs/{quote(name, safe='')}/"


class Site:
    """Passes requests for one log to that log's application, all others to that of the list."""

    def __init__(self, top: "ASGIApp", logs: Mapping[str, "ASGIApp"]) -> None:
        self._top, self._logs = top, logs

    async def __call__(self, given: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        scope = cast("HTTPScope", given)
        found = _LOG.fullmatch(scope["path"])
        if found is None or found[1] not in self._logs:
            await self._top(scope, receive, send)
        elif found[2] is None:
            # The page finds all else relative to its own address.
            reply = reply_with(_MOVED, {"Location": path_of(found[1])})
            await send_reply(reply, scope)
        else:
            await self._logs[found[1]]({**scope, "path": found[2]}, receive, send)


_MOVED = Problem(
    title="Moved", status=308, detail="the page is at the path with a / at its end", code="MOVED"
)


def site_of(
    listener: Listener, logs: Mapping[str, str]
) -> tuple["ASGIApp", dict[str, SharedState]]:
    """Return the application that shows several logs, and the state of each log by name.

    The key LIST holds the state of the page that lists the logs.

    Args:
        logs: Each log as given on the command line, by its name in the URL.
    """
    states = {name: SharedState(listener, PATHS.all, log) for name, log in logs.items()}
    top = SiteState(listener, states)
    apps: dict[str, ASGIApp] = {
        name: Admission(make_app(), PATHS, state) for name, state in states.items()
    }
    list_app = PageFiles(LIST_FILES, _list_app())
    return Site(Admission(list_app, SITE_PATHS, top), apps), {**states, LIST: top}


@cache
def _list_app() -> Litestar:
    return Litestar(
        [
            get(LOGS_PATH)(_logs),
            get(list(JOINT_ROUTES))(_ask_jointly),
            get(openapi.PATH)(_openapi),
            get("/health")(health),
            get("/ready")(_ready),
        ],
        openapi_config=None,
        logging_config=None,
        exception_handlers=errors_handled(),
    )


async def _logs(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the list of logs, each with its summary or the reason why there is none."""
    state = shared_state(request.scope)
    assert isinstance(state, SiteState)
    caller = request.scope["state"]["caller"]
    shown = await asyncio.gather(*[state.shown(name, caller) for name in state.logs])
    return Response(msgspec.json.encode(LogList(logs=tuple(shown))), media_type=JSON)


async def _ask_jointly(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Answer the question about several logs of the request's path.

    Raises:
        RequestError: a parameter is malformed, or the question raises the error.
        UnavailableError: as `SiteState.places`.
    """
    state = shared_state(request.scope)
    assert isinstance(state, SiteState)
    question = JOINT_ROUTES[request.scope["path"]]
    values = query_of(request.scope["query_string"])
    wanted, _ = read_request(fields_of(question.request), question.request, values)
    places = state.places(wanted.logs, request.scope["state"]["caller"])
    async with state.documents:
        answer, about = await asyncio.to_thread(question.ask, places, wanted)
        content = await asyncio.to_thread(encoded, Place.of(about, None), answer, {})
    return Response(content, media_type=JSON)


async def _openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the OpenAPI document of the questions about several logs."""
    return Response(openapi.joint_openapi(), media_type=JSON)


async def _ready(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return 200 if all logs can be read.

    Raises:
        UnavailableError: a log cannot be read; names it and the reason.
    """
    state = shared_state(request.scope)
    assert isinstance(state, SiteState)
    for name, log in state.logs.items():
        if log.service is None:
            raise UnavailableError(f"{name}: {log.unavailable()}")
    return Response(msgspec.json.encode(Health(status="ready")), media_type=JSON)


_OPEN = frozenset({"/health", "/ready", *LIST_FILES})

SITE_PATHS = Paths(
    all=_OPEN | {LOGS_PATH, openapi.PATH, *JOINT_ROUTES},
    open=_OPEN,
    watched=frozenset({"/health", "/ready"}),
    endless=frozenset(),
    forms={},
)
