"""Commands and questions in the form used by all connections: a name and an encoded request."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import Any, TypeVar, overload

import msgspec

from api.questions.rows import TAIL, FollowRows, RowsFollowed
from api.questions.table import find_question
from api.requests.subscription import subscribed
from controller.decisions.request import Request as TypedRequest
from controller.results.answer import Answer
from controller.results.changed_versions import ObjectVersion
from controller.wire import from_wire, to_wire
from metadata_log.format.batch import Batch
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError
from replay.about import About

A = TypeVar("A")


class WireRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to run a command, or a question if it has a `point`.

    `request` is encoded by `controller.wire`. With a `request_id` the request can be sent again and
    is carried out once. `principal` is an identity to act as, which requires a right. A question
    with `min_offset` is answered once the log contains that offset; a `consistent` one once the
    log contains what its store has committed.
    """

    command: str
    request: bytes
    reason: str | None = None
    request_id: str | None = None
    trace_parent: str | None = None
    principal: str | None = None
    point: str | None = None
    cursor: bytes = b""
    min_offset: int | None = None
    consistent: bool = False

    @property
    def is_question(self) -> bool:
        """True for a question, False for a command."""
        return self.point is not None


class WireAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a command or question, as connections send it.

    Attributes:
        response: The encoded response.
        about: The answer's position in the log, encoded; only on the last page of a question's
            answer.
        cursor: Encoded cursor of the next page; on all pages but the last.
        versions: Encoded versions of the changed objects; empty if nothing was written, or if the
            service does not report versions.
    """

    response: bytes
    end_offset: int = -1
    wrote: bool = True
    about: bytes = b""
    cursor: bytes = b""
    versions: bytes = b""

    @classmethod
    def of(cls, answer: Answer[Any]) -> "WireAnswer":
        """Return a command's answer in the form used by connections."""
        return cls(
            response=to_wire(answer.response),
            end_offset=answer.end_offset,
            wrote=answer.wrote,
            versions=to_wire(answer.versions) if answer.wrote else b"",
        )

    def answer(self, response: Any) -> Answer[Any]:
        """Return the decoded answer, given the type of its response."""
        versions = None if self.wrote else ()
        if self.versions:
            versions = from_wire(self.versions, _VERSIONS, lenient=True)
        found = from_wire(self.response, response, lenient=True)
        return Answer(found, self.end_offset, self.wrote, versions)


_VERSIONS = tuple[ObjectVersion, ...] | None


class AnswerPage(msgspec.Struct, frozen=True):
    """An answer, or one page of it. The last page has `about` and no `cursor`."""

    response: Any
    about: About | None
    cursor: bytes


class CommandClient(ABC):
    """Base of clients that run commands and ask questions; subclasses send the encoded requests."""

    @abstractmethod
    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Send a request and wait for its answer; raises as `run`."""

    @overload
    async def run(
        self,
        command: TypedRequest[A],
        /,
        *,
        reason: str | None = ...,
        request_id: str | None = ...,
        trace_parent: str | None = ...,
        principal: str | None = ...,
    ) -> Answer[A]: ...

    @overload
    async def run(
        self,
        command: str,
        request: Any,
        *,
        reason: str | None = ...,
        request_id: str | None = ...,
        trace_parent: str | None = ...,
        principal: str | None = ...,
    ) -> Answer[Any]: ...

    async def run(
        self,
        command: str | TypedRequest[Any],
        request: Any = None,
        *,
        reason: str | None = None,
        request_id: str | None = None,
        trace_parent: str | None = None,
        principal: str | None = None,
    ) -> Answer[Any]:
        """Run a command of `api.requests.commands` by its name; see `Admin`.

        Args:
            command: A request, whose class determines command and response; or the name of a
                command, followed by its request.
            principal: An identity to act as, which requires a right; None: the connection's.

        Raises:
            RequestError: the decision's refusal.
            UnavailableError: no answer, or the service cannot decide now; the error's outcome shows
                whether the request may have been carried out.
        """
        # Importing all commands takes longer than most questions, which need none.
        from api.requests.commands import find_command, named

        if not isinstance(command, str):
            command, request = named(command)
        found = find_command(command)
        answer = await self.run_wire(
            WireRequest(
                command=found.name,
                request=to_wire(request),
                reason=reason,
                request_id=request_id,
                trace_parent=trace_parent,
                principal=principal,
            )
        )
        return answer.answer(found.response)

    async def page(
        self,
        question: str,
        request: Any,
        *,
        at: str = "end",
        cursor: bytes = b"",
        principal: str | None = None,
        min_offset: int | None = None,
        consistent: bool = False,
    ) -> AnswerPage:
        """Return the answer to a question of `api.questions`, or a page of a long answer.

        Args:
            at: The point of the question, as on the command line; times without a zone are in UTC,
                and ages count back from the service's clock.
            cursor: The `cursor` of the previous page; empty for the first page.
            principal: An identity to act as, which requires a right; None: the connection's.
            min_offset: An offset that the answer must include; the service waits a while until it
                is committed. To see a change, pass the `end_offset` of the change's answer, less 1.
            consistent: Include every change that any node answered before this call: the store of a
                shared log confirms it. A service whose log is not shared always includes them.

        Raises:
            RequestError: the question is refused; or OFFSET_NOT_AVAILABLE, the log does not contain
                `min_offset` in time.
            UnavailableError: no answer, or the service cannot answer now.
        """
        asked = WireRequest(
            command=question,
            request=to_wire(request),
            point=at,
            cursor=cursor,
            principal=principal,
            min_offset=min_offset,
            consistent=consistent,
        )
        try:
            answer = await self.run_wire(asked)
        except UnavailableError as error:
            raise _of_question(error) from error
        about = from_wire(answer.about, About, lenient=True) if answer.about else None
        if about is not None and min_offset is not None and about.log_end <= min_offset:
            # A service of an earlier release, which does not wait.
            raise not_available(min_offset, about.log_end)
        response = from_wire(answer.response, find_question(question).response, lenient=True)
        return AnswerPage(response, about, answer.cursor)

    def subscribe(
        self, from_offset: int, *, show_secrets: bool = False, principal: str | None = None
    ) -> AsyncGenerator[Batch, None]:
        """Yield committed batches from an offset on, then each new one as it commits, without end.

        Every batch is complete and is yielded once, in order. If the offset is past the log's end,
        waits until that offset is committed; if the offset is within a batch, the first batch
        begins with the record at the offset. Nothing is buffered for a slow subscriber. Secrets are
        left out: config values are "(redacted)"; keys and ids of credentials, and `asked`, are
        empty.

        Args:
            show_secrets: Include secrets, which requires a right.
            principal: As for `run`.

        Raises:
            UnknownHistoryError: the offset is before the kept history, which begins at the error's
                `history_start`.
            RequestError: the subscription is refused; or UNSUPPORTED_VERSION, a record is of a
                later release.
            UnavailableError: the connection was lost; continue after the last batch with a new
                connection.
        """

        async def ask(request: FollowRows) -> tuple[RowsFollowed, About | None]:
            answer = await self.page(TAIL.name, request, principal=principal)
            return answer.response, answer.about

        return subscribed(ask, from_offset, show_secrets=show_secrets)


def _of_question(error: UnavailableError) -> MetadataLogError:
    """Return the error for an unanswered question, with the outcome that nothing was changed."""
    if error.outcome is Outcome.NOTHING:
        return error
    what, _, _ = str(error).partition("; the outcome is unknown")
    return error.with_outcome(Outcome.NOTHING, f"{what}; ask again")


def not_available(min_offset: int, log_end: int) -> RequestError:
    """Return the error for a minimum offset that the log does not contain yet."""
    return RequestError(
        "OFFSET_NOT_AVAILABLE",
        f"the log ends at {log_end}, and does not hold offset {min_offset} yet; ask again, or see "
        "whether the offset is that of another log",
    )
