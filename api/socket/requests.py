"""Processes request frames for one caller and returns answer frames."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from api.requests.wire_requests import WireAnswer, WireRequest
from api.socket.appends import Append, Appended, decode_append, encode_appended
from api.socket.frames import Kind
from api.socket.runs import Ran, Run, decode_run, encode_ran
from api.transport.shutdown import unless_set
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.request_window import is_repeatable
from records.avro.layout import Layout
from records.errors import UnavailableError


class CallerSession(Protocol):
    """Answers the requests of one caller; `api.service.session.Session` implements it."""

    def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> Awaitable[AppendResult]: ...

    def begin_append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> asyncio.Future[Any]: ...

    def append_result(self, answer: Any) -> AppendResult: ...

    def run_wire(self, request: WireRequest) -> Coroutine[Any, Any, WireAnswer]: ...


SessionOf = Callable[[Caller], CallerSession]
"""Returns the session of a caller."""


class PlainAppend:
    """An append without a request id: only its commit has to be awaited, so it needs no task."""

    def __init__(self, session: CallerSession, request: Append) -> None:
        """Store the request; `begin` starts it."""
        self._session, self._request = session, request

    def begin(self) -> asyncio.Future[Any]:
        """Start the append, and return a future of the value to pass to `answer`.

        Raises:
            RequestError: the append is refused; the future may raise the same error.
        """
        request = self._request
        return self._session.begin_append(
            request.batch,
            expected_end_offset=request.expected_end_offset,
            expected_versions=request.expected_versions,
        )

    def answer(self, committed: Any) -> bytes:
        """Return the answer frame, given the result of the future from `begin`."""
        result = self._session.append_result(committed)
        return encode_appended(Appended(correlation_id=self._request.correlation_id, result=result))


class Question:
    """A question; it is answered after all changes that its connection has requested before."""

    def __init__(self, session: CallerSession, run: Run, gone: asyncio.Event) -> None:
        """Store the arguments.

        Args:
            gone: Set when the client has disconnected; the question is then abandoned.
        """
        self._session, self._run, self._gone = session, run, gone

    async def answer(self, changes: Awaitable[None] | None) -> bytes:
        """Wait for the changes, if there are any, and return the answer frame.

        Raises:
            MetadataLogError: there is no answer.
        """
        answer = await unless_set(self._gone, self._answer_after(changes))
        if answer is None:
            raise UnavailableError("the client sent nothing more, so its question was abandoned")
        return encode_ran(Ran(correlation_id=self._run.correlation_id, answer=answer))

    async def _answer_after(self, changes: Awaitable[None] | None) -> WireAnswer:
        if changes is not None:
            await changes
        return await self._session.run_wire(self._run.request)


class Requests:
    """Answers the requests of one connection."""

    def __init__(self, session: CallerSession, layout: Layout, gone: asyncio.Event) -> None:
        """Store the arguments.

        Args:
            session: Answers the requests; belongs to one caller.
            layout: Layout of the rows in append requests.
            gone: Set when the client has disconnected; its unanswered questions are then abandoned.
        """
        self._session = session
        self._layout = layout
        self._gone = gone

    def read(self, content: bytes) -> Awaitable[bytes] | PlainAppend | Question:
        """Read a request; return an awaitable of its answer, an append to begin, or a question.

        Raises:
            RequestError: the request cannot be decoded; nothing was started.
        """
        if content[0] == Kind.RUN:
            run = decode_run(content)
            if run.request.is_question:
                return Question(self._session, run, self._gone)
            return self._run(run)
        request = decode_append(content, self._layout)
        if is_repeatable(request.batch.identified().origin):
            return self._append(request)
        return PlainAppend(self._session, request)

    async def _append(self, request: Append) -> bytes:
        result = await self._session.append(
            request.batch,
            expected_end_offset=request.expected_end_offset,
            expected_versions=request.expected_versions,
        )
        return encode_appended(Appended(correlation_id=request.correlation_id, result=result))

    async def _run(self, run: Run) -> bytes:
        answer = await self._session.run_wire(run.request)
        return encode_ran(Ran(correlation_id=run.correlation_id, answer=answer))
