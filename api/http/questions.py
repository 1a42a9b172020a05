"""Questions over HTTP: one handler for all, with the same answers as `metalog ... --json`."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, TypeVar

import msgspec
from litestar import Request, Response
from litestar.response import Stream

from api.documents.access import access_explained, blame_of_access
from api.documents.document import Document, document_of
from api.documents.errors import Error
from api.documents.logs import End, Place
from api.http.paging import (
    CONSISTENT,
    MIN_OFFSET,
    NEXT,
    PARAMETERS,
    VERBOSE,
    Paging,
    is_paged,
    paging_of,
)
from api.http.parameters import Parameter, parameters_of, read_request
from api.http.problems import code_of
from api.http.request import Call, Reply, call_of, flag, one_offset, shared_state
from api.http.shared_state import SharedState
from api.http.versions import etag_of
from api.questions.blame import BLAME, ShowBlame
from api.questions.named_objects import ABSENT, REASONS, asked_object, topic_object
from api.questions.pages import Cursor, Page
from api.questions.question import Question
from api.questions.report import ReportPiece
from api.questions.rows import FollowRows
from api.questions.table import QUESTIONS, find_question
from api.report.page import PageCommand, report_page
from api.requests.commands import named
from api.requests.json_requests import request_class
from api.service.service import Service
from controller.authorization.caller import Caller
from controller.wire import to_wire
from records.errors import MetadataLogError, RequestError, UnavailableError

T = TypeVar("T")

LINES, HTML = "application/x-ndjson", "text/html"

COMMON = ("as",)
"""Parameters of every question and stream that are not fields of the request."""

_LARGE_BYTES = 64 * 1_024
"""Size from which an answer is encoded in a thread: a smaller one takes less time than the thread
is worth."""

_OF_SERVICE = {"report": "known"}
"""By question: the field of the request that only the service itself sets."""


class Route(msgspec.Struct, frozen=True):
    """A question with its parameters; `request` is the struct that the parameters fill."""

    question: Question
    request: Any
    parameters: tuple[Parameter, ...]

    @property
    def document(self) -> Document | None:
        """The document type of the answer; None if the answer is an HTML page."""
        return document_of(self.question)

    @property
    def is_stream(self) -> bool:
        """True if the answer is one JSON document per line."""
        return self.document is not None and self.document.is_stream

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the parameters that are not fields of the request."""
        own = () if self.document is None else self.document.flags
        paging = PARAMETERS if is_paged(self.document) else ()
        common = (*COMMON, MIN_OFFSET, CONSISTENT, *paging)
        return (*common, *own, VERBOSE) if self.is_stream else (*common, *own)


def _route(question: Question) -> Route:
    request = request_class(question.name)
    own = _OF_SERVICE.get(question.name)
    found = [each for each in parameters_of(question, request) if each.field != own or own is None]
    return Route(question, request, tuple(found))


def path_of(name: str) -> str:
    """Return the URL path of a question or command."""
    return f"/v1/{name.replace(' ', '/')}"


ROUTES = {path_of(name): _route(find_question(name)) for name in QUESTIONS}
"""The questions by path."""

DOCUMENTS = frozenset(
    {path for path, route in ROUTES.items() if route.document is not None and not route.is_stream}
)
"""Paths of the questions whose answer is one JSON document."""


class Answers(msgspec.Struct, frozen=True):
    """A caller's question to a service; computes the pages of the answer on demand.

    Attributes:
        documents: Semaphore that is held while a large answer is made.
        start: Where the answer starts; None: at its first item.
        limit: Maximum of items; None: all.
    """

    documents: asyncio.Semaphore
    service: Service
    question: Question
    payload: bytes
    at: str
    caller: Caller
    start: Cursor | None = None
    limit: int | None = None

    async def pages(self) -> AsyncIterator[tuple[Any, Page]]:
        """Yield each page's decoded content, and the page."""
        cursor, left = self.start, self.limit
        while True:
            page = await self.service.answers.page(
                self.question.name,
                self.payload,
                caller=self.caller,
                at=self.at,
                cursor=cursor,
                limit=left,
            )
            content = page.content(self.question.response)
            yield content, page
            cursor = page.cursor
            left = None if left is None else left - len(content)
            if cursor is None or left == 0:
                return

    async def whole(self) -> tuple[Any, Page, int]:
        """Return the whole answer, its last page, and the number of octets of all its pages."""
        pages = [page async for page in self.pages()]
        answer, last = pages[-1]
        if self.question.item is not None:
            answer = [item for items, _ in pages for item in items]
        return answer, last, sum(len(page.payload) for _, page in pages)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the answer to a question."""

    route: Route
    call: Call
    wanted: Any
    answers: Answers


async def document(scope: Mapping[str, Any]) -> Reply:
    """Return the answer to a question of DOCUMENTS, that of the request's path.

    Raises:
        RequestError: a parameter is malformed, or the question raises the error.
        UnavailableError: the service cannot answer now.
    """
    asked = await _asked(scope)
    paging = _paging(asked, scope["path"])
    return await _with_reason(asked, _document(asked, paging))


async def ask(request: Request[Any, Any, Any]) -> Response[Any]:
    """Answer another question, that of the request's path; raises the errors of `document`."""
    asked = await _asked(request.scope)
    if asked.route.document is None:
        shared = shared_state(request.scope)
        command = _command(shared, asked.call, masked=asked.wanted.mask_hosts)
        return await _report(asked.answers, command)
    paging = _paging(asked, request.scope["path"])
    return await _with_reason(asked, _streamed(asked, paging))


async def _asked(scope: Mapping[str, Any]) -> _Asked:
    route = ROUTES[scope["path"]]
    call = call_of(scope)
    wanted, point = read_request(route.parameters, route.request, call.values, route.flags)
    argument = named(wanted)[1] if route.request is not route.question.request else wanted
    caller = call.acting_caller()
    if flag(call.values, CONSISTENT):
        await call.service.answers.up_to_date(caller)
    min_offset = one_offset(call.values, MIN_OFFSET)
    if min_offset is not None:
        await call.service.answers.holds(min_offset, caller)
    if isinstance(argument, FollowRows):
        await call.service.answers.rows_come(argument, caller)
        argument = msgspec.structs.replace(argument, wait_ms=0)
    answers = Answers(
        call.documents, call.service, route.question, to_wire(argument), point, caller
    )
    return _Asked(route=route, call=call, wanted=wanted, answers=answers)


def _paging(asked: _Asked, path: str) -> Paging:
    assert asked.route.document is not None
    answers = asked.answers
    return paging_of(
        asked.call, answers.caller, asked.route.document, asked.route.question, answers.at, path
    )


async def _with_reason(asked: _Asked, answering: Awaitable[T]) -> T:
    """Return an answer; the error of an absent object says why it is absent, if that is known."""
    try:
        return await answering
    except RequestError as error:
        object_ = asked_object(asked.wanted)
        if object_ is None:
            raise
        message = await _explained(asked.answers, error.code, str(error), object_)
        raise RequestError(error.code, message) from error


async def _document(asked: _Asked, paging: Paging) -> Reply:
    document, wanted, call = asked.route.document, asked.wanted, asked.call
    assert document is not None
    answers = _part_of(asked.answers, paging)
    async with answers.documents:
        answer, last, size = await answers.whole()
        found: Any
        if answers.question.name == "acls explain":
            found = access_explained(answer, await _blame_of(answers, answer))
        else:
            flags = {name: flag(call.values, name) for name in document.flags}
            found = document.of(wanted, answer, **flags)
        refused = await _refused(answers, wanted, answer)
        etag = etag_of(found) if answers.at == "end" and paging.start is None else None
        headers = {} if etag is None else {"ETag": etag}
        more: dict[str, Any] = {"errors": refused} if refused else {}
        if paging.is_asked:
            found, more[NEXT] = paging.page_of(found, last)
            headers |= {} if more[NEXT] is None else {"Link": paging.link(more[NEXT])}
        place = _place(last) if document.has_place else None
        if size < _LARGE_BYTES:
            content = encoded(place, found, more)
        else:
            content = await asyncio.to_thread(encoded, place, found, more)
    return Reply(content, headers=headers)


def _part_of(answers: Answers, paging: Paging) -> Answers:
    start, limit = paging.computed
    return msgspec.structs.replace(answers, start=start, limit=limit)


async def _blame_of(answers: Answers, answer: Any) -> Any:
    blame = blame_of_access(answer)
    if blame is None:
        return None
    result, _, _ = await Answers(
        answers.documents, answers.service, BLAME, to_wire(blame), answers.at, answers.caller
    ).whole()
    return result


async def _explained(answers: Answers, code: str, message: str, object_: str) -> str:
    """Return an error's message; for an absent object, with the reason if it can be found."""
    if code not in ABSENT:
        return message
    blame = msgspec.structs.replace(
        answers,
        question=BLAME,
        payload=to_wire(ShowBlame(object=object_)),
        start=None,
        limit=None,
    )
    try:
        await blame.whole()
    except RequestError as error:
        if error.code in REASONS:
            return f"{message}: {error}"
    except UnavailableError:
        pass  # the first error is an answer without the reason
    return message


async def _refused(answers: Answers, wanted: Any, answer: Any) -> list[dict[str, Any]]:
    """Return the errors (code and message) of the requested items that were refused.

    Raises:
        RequestError: all items were refused.
    """
    name = answers.question.name
    items = {"topics describe": lambda: answer.topics, "users describe": lambda: answer}.get(name)
    found = list(items()) if items else []
    refusals = [(place, each.refusal) for place, each in enumerate(found) if each.refusal]
    errors = []
    for place, refusal in refusals:
        message = refusal.message
        if name == "topics describe":
            object_ = topic_object(wanted.topics[place])
            message = await _explained(answers, refusal.code, message, object_)
        errors.append(Error.of_refusal(refusal, message))
    if errors and len(errors) == len(found):
        raise RequestError(errors[0].code, errors[0].message)
    return [msgspec.to_builtins(error) for error in errors]


def encoded(place: Place | None, found: Any, more: dict[str, Any]) -> bytes:
    """Return an answer as JSON, after its position in the log and before `more` fields."""
    fields = {} if place is None else msgspec.to_builtins(place)
    fields |= found if isinstance(found, dict) else msgspec.to_builtins(found)
    return msgspec.json.encode({**fields, **more})


async def _streamed(asked: _Asked, paging: Paging) -> Stream:
    document, wanted = asked.route.document, asked.wanted
    assert document is not None
    verbose = flag(asked.call.values, VERBOSE)
    pages = _part_of(asked.answers, paging).pages()
    # What is refused is refused before the answer begins.
    first = await anext(pages)

    async def lines() -> AsyncIterator[bytes]:
        items, last = first
        yield _lines(document, wanted, items)
        try:
            async for page in pages:
                items, last = page
                yield _lines(document, wanted, items)
        except MetadataLogError as error:
            yield _line({"error": Error(code=code_of(error), message=str(error))})
            return
        following = paging.cursor_after(last)
        if following is not None:
            yield _line({NEXT: following})
        elif verbose:
            yield _line(End(end=_place(last)))

    return Stream(lines(), media_type=LINES)


def _place(last: Page) -> Place:
    assert last.about is not None, "the last page has it"
    return Place.of(last.about, None)


def _lines(document: Document, wanted: Any, items: Any) -> bytes:
    return b"".join([_line(document.of(wanted, item)) for item in items])


def _line(document: Any) -> bytes:
    return msgspec.json.encode(document) + b"\n"


async def packed_report(answers: Answers) -> bytes:
    """Return the columns of a report in packed form; raises the errors of `ask`."""
    return b"".join([piece.content for piece in await report_pieces(answers)])


async def report_pieces(answers: Answers) -> list[ReportPiece]:
    """Return the pieces of a report; raises the errors of `ask`."""
    async with answers.documents:
        pieces: list[ReportPiece] = (await answers.whole())[0]
        return pieces


def _command(shared: SharedState, call: Call, *, masked: bool) -> PageCommand:
    """Return the `metalog` command that makes the same page."""
    if masked:
        return PageCommand(name="report", where="LOG", masked=True)
    if shared.log is not None:
        return PageCommand(name=shared.log, where=shlex.quote(shared.log), masked=False)
    server = shared.kafka_url(call.headers)
    return PageCommand(name=server, where=f"--server {server}", masked=False)


async def _report(answers: Answers, command: PageCommand) -> Response[str]:
    packed = await packed_report(answers)
    async with answers.documents:
        page = await asyncio.to_thread(report_page, packed, command)
    return Response(page, media_type=HTML)
