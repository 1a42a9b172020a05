"""Processes request frames for one caller and returns answer frames."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from api.shutdown import unless_set
from api.socket.appends import Append, Appended, decode_append, encode_appended
from api.socket.frames import Kind
from api.socket.runs import Ran, Run, decode_run, encode_ran
from api.wire_requests import WireAnswer, WireRequest
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from metadata_log.append_result import AppendResult
from metadata_log.batch import NewBatch
from records.avro.layout import Layout
from records.errors import RequestError, UnavailableError


class Appendable(Protocol):
    """Interface of a log that commits batches."""

    def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> Awaitable[AppendResult]: ...


class CallerSession(Protocol):
    """Answers the requests of one caller; `api.session.Session` implements it."""

    def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> Awaitable[AppendResult]: ...

    def run_wire(self, request: WireRequest) -> Coroutine[Any, Any, WireAnswer]: ...


SessionOf = Callable[[Caller], CallerSession]
"""Returns the session of a caller."""


class LogSession:
    """A session on a log without a controller: it can only append."""

    def __init__(self, log: Appendable) -> None:
        self._log = log

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult:
        """Commit a batch, like `MetadataLog.append`."""
        if expected_versions:
            raise RequestError("INVALID_REQUEST", "a log without a service knows no objects")
        return await self._log.append(batch, expected_end_offset=expected_end_offset)

    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Refuse any command, because there is no controller."""
        raise RequestError("INVALID_REQUEST", "a log without a service runs no commands")


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

    def begin(self, content: bytes) -> Awaitable[bytes]:
        """Start a request and return an awaitable of its answer frame.

        Raises:
            RequestError: the request cannot be decoded; nothing was started.
        """
        if content[0] == Kind.RUN:
            return self._run(decode_run(content))
        return self._append(decode_append(content, self._layout))

    async def _append(self, request: Append) -> bytes:
        result = await self._session.append(
            request.batch,
            expected_end_offset=request.expected_end_offset,
            expected_versions=request.expected_versions,
        )
        return encode_appended(Appended(correlation_id=request.correlation_id, result=result))

    async def _run(self, run: Run) -> bytes:
        answering = self._session.run_wire(run.request)
        if not run.request.is_question:
            answer: WireAnswer | None = await answering
        else:
            answer = await unless_set(self._gone, answering)
        if answer is None:
            raise UnavailableError("the client sent nothing more, so its question was abandoned")
        return encode_ran(Ran(correlation_id=run.correlation_id, answer=answer))
