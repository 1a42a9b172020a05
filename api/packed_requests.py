"""Commands by name with packed requests: the form in which every connection carries them."""

from typing import Any, TypeVar, overload

import msgspec

from api.commands import find_command, named
from controller.packed import packed, unpacked
from controller.pending_answers import Answer
from controller.request import Request as TypedRequest

A = TypeVar("A")


class PackedRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to run a command.

    `request` is encoded by `controller.packed`. With a `request_id` it can be sent again and is
    carried out once. `principal` is an identity to act as, which needs a right of its own.
    """

    command: str
    request: bytes
    reason: str | None = None
    request_id: str | None = None
    trace_parent: str | None = None
    principal: str | None = None


class PackedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A packed response; otherwise as `controller.pending_answers.Answer`."""

    response: bytes
    end_offset: int
    wrote: bool = True


class CommandClient:
    """Runs commands by name or by typed request; subclasses send the packed form."""

    async def run_packed(self, request: PackedRequest) -> PackedAnswer:
        """Send a request and wait for its answer; raises as `run`."""
        raise NotImplementedError

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
        """Run a command of `api.commands` by its name; see `Admin`.

        Args:
            command: A request, whose class determines command and response; or the name of a
            command,
                followed by its request.
            principal: An identity to act as, which needs a right of its own; None: the
            connection's.

        Raises:
            RequestError: the decision's refusal.
            UnavailableError: no answer, or the service cannot decide now; the outcome says what
                became of the request.
        """
        if not isinstance(command, str):
            command, request = named(command)
        found = find_command(command)
        answer = await self.run_packed(
            PackedRequest(
                command=command,
                request=packed(request),
                reason=reason,
                request_id=request_id,
                trace_parent=trace_parent,
                principal=principal,
            )
        )
        response = unpacked(answer.response, found.response)
        return Answer(response, answer.end_offset, answer.wrote)
