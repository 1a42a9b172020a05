"""Committed records as server-sent events: `id` is the offset, `data` the record.

    id: 4107
    event: record
    data: {"offset": 4107, ...}

A client that reconnects with `Last-Event-ID` continues after that record. If there are no events
for some time, a comment is sent. A stream that falls too far behind gets an event `behind`, and
then records read from the log. Before each chunk, the caller's token and rights are checked again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from litestar import Request
from litestar.response import Stream

from api.documents.errors import Error
from api.http import heartbeats
from api.http.admission import authenticated
from api.http.heartbeats import Heartbeats
from api.http.limits import EVENTS_A_CHUNK
from api.http.parameters import read_request
from api.http.problems import code_of
from api.http.questions import COMMON, ROUTES, path_of
from api.http.request import Call, call_of, shared_state
from api.questions.rows import TAIL, FollowRows, RowsFollowed, check_types, is_offset
from api.questions.table import guard_of
from api.service.feed import Event, Feed
from controller.turns_for_others import leave_turns
from controller.wire import from_wire, to_wire
from records.errors import MetadataLogError, RequestError, UnknownHistoryError

PATH = "/v1/events"
MEDIA_TYPE = "text/event-stream"

PARAMETERS = tuple(
    [
        parameter
        for parameter in ROUTES[path_of(TAIL.name)].parameters
        if parameter.field not in ("wait_ms", None)
    ]
)
"""The parameters of `tail`, except those for the maximum wait and the end."""


async def follow(request: Request[Any, Any, Any]) -> Stream:
    """Stream the records from a point on, then each new record when it is committed.

    Raises:
        RequestError: a parameter is malformed, the point is before the kept history, or the caller
            may not see all records.
        UnavailableError: the service cannot answer now.
    """
    call, shared = call_of(request.scope), shared_state(request.scope)
    wanted, _ = read_request(PARAMETERS, FollowRows, call.values, COMMON)
    check_types(wanted.types)
    last = last_event_id(call)
    if last is not None:
        wanted = msgspec.structs.replace(wanted, first=str(last + 1))

    def is_known() -> bool:
        # SIGHUP may have taken the token away, or given it to somebody else.
        return authenticated(shared.listener, request.scope) == call.caller

    stream = _Events(call, shared.feed, shared.heartbeats, wanted, is_known)
    await stream.begin()
    return Stream(stream.chunks(), media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def last_event_id(call: Call) -> int | None:
    """Return the last offset that a reconnecting client has received; None for a new client.

    Raises:
        RequestError: INVALID_REQUEST, the header `Last-Event-ID` is not an offset.
    """
    text = call.headers.get("last-event-id")
    if text is None:
        return None
    if not is_offset(text):
        raise RequestError("INVALID_REQUEST", f"Last-Event-ID {text!r} is not an offset")
    return int(text)


class _Events:
    """One client's stream of events."""

    def __init__(
        self,
        call: Call,
        feed: Feed,
        beats: Heartbeats,
        wanted: FollowRows,
        is_known: Callable[[], bool],
    ) -> None:
        self._call, self._service = call, call.service
        self._feed, self._heartbeats = feed, beats
        self._wanted, self._is_known = wanted, is_known
        self._caller = call.acting_caller()
        self._offset = feed.end_offset
        self._is_live = True
        self._first: RowsFollowed | None = None

    async def begin(self) -> None:
        """Find the offset of the first record to send."""
        self._check()
        first = self._wanted.first
        if not first:
            return
        if is_offset(first):
            self._offset = int(first)
            start = self._service.answers.history_start
            if self._offset < start:
                raise UnknownHistoryError(
                    f"offset {first} is not kept: history starts at {start}; read the image "
                    f"at offset {start - 1}, then follow from {start}"
                )
            if self._offset > self._feed.end_offset:
                raise RequestError(
                    "OFFSET_OUT_OF_RANGE",
                    f"offset {first} is beyond the log's end, {self._feed.end_offset}",
                )
            self._is_live = self._feed.since(self._offset, 1) is not None
        else:
            self._is_live = False
            self._first = await self._page(first)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the events as bytes.

        Ends with the service, or when the caller loses the right to read the events.
        """
        loop = asyncio.get_running_loop()
        with self._heartbeats.stream():
            try:
                # So that a client knows at once that it is connected.
                yield b": from offset %d\n\n" % self._offset
                sent_at = loop.time()
                while not self._feed.is_closed:
                    events = await self._next()
                    self._check()
                    if not events and loop.time() - sent_at >= heartbeats.BEAT_S:
                        events = b": nothing new\n\n"
                    if events:
                        yield events
                        sent_at = loop.time()
                    else:
                        await leave_turns()  # records that are not wanted: others have a turn
                yield b": the service ends\n\n"
            except MetadataLogError as error:
                found = Error(code=code_of(error), message=str(error), outcome=error.outcome.value)
                yield b"event: error\ndata: " + msgspec.json.encode(found) + b"\n\n"

    def _check(self) -> None:
        if not self._is_known():
            raise RequestError(
                "AUTHENTICATION_FAILED", "the token is no longer known; use a new one"
            )
        # The right to take the identity may have gone, too.
        self._caller = self._call.acting_caller()
        guard_of(TAIL).check_request(self._service.access(self._caller), self._wanted)

    async def _next(self) -> bytes:
        """Return the next wanted events as bytes; empty if the stream is woken without any."""
        if self._first is not None:
            return await self._from_log()
        await self._feed.beyond_or_woken(self._offset)
        found = self._feed.since(self._offset, EVENTS_A_CHUNK)
        if found is None:
            return await self._from_log()
        self._is_live = True
        if found:
            self._offset = found[-1].row.offset + 1
        return b"".join([self._event(event) for event in found if self._is_wanted(event)])

    def _is_wanted(self, event: Event) -> bool:
        types = self._wanted.types
        return not types or type(event.row.payload).__name__ in types

    def _event(self, event: Event) -> bytes:
        wanted = self._wanted
        data = event.json(show_secrets=wanted.show_secrets, asked=wanted.asked)
        return _encoded(event.row.offset, data)

    async def _from_log(self) -> bytes:
        notice = b""
        if self._is_live:
            self._is_live = False
            notice = b'event: behind\ndata: {"next_offset":%d,"log_end":%d}\n\n' % (
                self._offset,
                self._feed.end_offset,
            )
        page, self._first = self._first or await self._page(str(self._offset)), None
        self._offset = page.next_offset
        return notice + b"".join(
            [_encoded(row.offset, msgspec.json.encode(row)) for row in page.rows]
        )

    async def _page(self, first: str) -> RowsFollowed:
        wanted = msgspec.structs.replace(self._wanted, first=first)
        page = await self._service.answers.page(TAIL.name, to_wire(wanted), caller=self._caller)
        found: RowsFollowed = from_wire(page.payload, TAIL.response, lenient=True)
        return found


def _encoded(offset: int, data: bytes) -> bytes:
    return b"id: %d\nevent: record\ndata: %b\n\n" % (offset, data)
