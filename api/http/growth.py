"""Newer columns of a report as server-sent events: `id` is the last offset of the columns.

    id: 4107
    event: growth
    data: the packed columns, in base64

A client identifies the columns that it has in the query or, after an event, by `Last-Event-ID`. It
gets the columns that continue them. An event `anew` ends the stream if all columns
must be loaded again: the caller may see other topics now, or the service cannot compute the
difference. An event `error` ends the stream if the caller's token or rights are gone; its data is a
problem document.

Token and rights are checked before and after the computation of each growth.
"""

import asyncio
import base64
from asyncio import sleep
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import Request
from litestar.response import Stream
from msgspec.structs import replace

from api.http import heartbeats, questions
from api.http.admission import authenticated
from api.http.events import MEDIA_TYPE, last_event_id
from api.http.limits import GROWTH_INTERVAL_S
from api.http.parameters import read_request
from api.http.problems import problem_of
from api.http.questions import COMMON, Answers
from api.http.request import call_of, one, one_offset, shared_state
from api.http.web_page import PARAMETERS as OF_COLUMNS
from api.http.web_page import columns_name, shown_report
from api.questions.report import REPORT, ReportPiece, ShowReport
from controller.authorization.caller import Caller
from controller.wire import to_wire
from records.errors import MetadataLogError, RequestError

PATH = "/v1/report/growth"

PARAMETERS = tuple([p for p in OF_COLUMNS if p.field in ("first", "topics", "records_max")])
"""The parameters of columns that can grow: columns up to the log's end, without masked hosts."""

KNOWN, COLUMNS = HELD = ("known", "columns")
"""Parameters that identify the client's columns: their last offset, and the value of the header
`Metalog-Columns` that came with them."""

_ANEW = b"event: anew\ndata: {}\n\n"


async def follow(request: Request[Any, Any, Any]) -> Stream:
    """Stream the newer columns of a range, after each growth of the log.

    Raises:
        RequestError: a parameter is missing or malformed; or as the question `report`.
        UnavailableError: the service cannot answer now.
    """
    stream = _Growth(request)
    stream.begin()
    return Stream(stream.chunks(), media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


class _Growth:
    """One client's stream of growths."""

    def __init__(self, request: Request[Any, Any, Any]) -> None:
        self._scope = request.scope
        self._call, self._shared = call_of(request.scope), shared_state(request.scope)
        self._feed = self._shared.feed
        values = self._call.values
        self._wanted, _ = read_request(PARAMETERS, ShowReport, values, (*COMMON, *HELD))
        self._name = one(values, COLUMNS)
        known = last_event_id(self._call)
        known = one_offset(values, KNOWN) if known is None else known
        if known is None:
            raise RequestError(
                "INVALID_REQUEST", "an offset is required, in `known` or in Last-Event-ID"
            )
        # Last offset that the client has; moved only when a growth is sent.
        self._known = known

    def begin(self) -> None:
        """Check the caller's rights, so that a refusal is sent as a response, not in a stream."""
        self._shown()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the events as bytes.

        The stream ends when the service ends, after the event `anew`, and after an error.
        """
        with self._shared.heartbeats.stream():
            try:
                yield b": after offset %d\n\n" % self._known
                async for chunk in self._chunks():
                    yield chunk
            except MetadataLogError as error:
                found = msgspec.json.encode(problem_of(error))
                yield b"event: error\ndata: " + found + b"\n\n"

    async def _chunks(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        while not self._feed.is_closed:
            # The server waits here while the client has not taken what was sent before.
            yield b""
            if self._shown() is None:
                yield _ANEW
                return
            if self._feed.end_offset > self._known + 1:
                yield (event := await self._next())
                if event == _ANEW:
                    return
                sent_at = loop.time()
                await sleep(GROWTH_INTERVAL_S)
            elif loop.time() - sent_at >= heartbeats.BEAT_S:
                yield b": nothing new\n\n"
                sent_at = loop.time()
            await self._feed.beyond_or_woken(self._known + 1)
        yield b": the service ends\n\n"

    async def _next(self) -> bytes:
        """Return the next event."""
        if (before := self._shown()) is None:
            return _ANEW
        caller, found = before
        wanted = to_wire(replace(found, known=self._known))
        call = self._call
        answers = Answers(call.documents, call.service, REPORT, wanted, "end", caller)
        pieces = await questions.report_pieces(answers)
        # The token, rights and topics may have changed meanwhile.
        if self._shown() != before or pieces[0].after != self._known:
            return _ANEW
        self._known = pieces[0].last
        return _event(pieces)

    def _shown(self) -> tuple[Caller, ShowReport] | None:
        """Return the caller and the report that the caller may see now.

        Returns:
            None if the client's columns are not of that report.

        Raises:
            RequestError: the token is no longer known, or the caller may not see the report.
        """
        call = self._call
        # SIGHUP may have taken the token away, or given it to somebody else.
        if authenticated(self._shared.listener, self._scope) != call.caller:
            raise RequestError(
                "AUTHENTICATION_FAILED", "the token is no longer known; use a new one"
            )
        caller = call.acting_caller()
        found = shown_report(call, self._wanted, caller)
        name = columns_name(call, self._shared, found)
        return (caller, found) if name == self._name else None


def _event(pieces: list[ReportPiece]) -> bytes:
    content = base64.b64encode(b"".join([piece.content for piece in pieces]))
    return b"id: %d\nevent: growth\ndata: %b\n\n" % (pieces[0].last, content)
