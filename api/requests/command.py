"""A command: a decision that can be run by name, with the rights that it requires."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.asked.asked import BoundDecision, response_type
from controller.authorization.caller import Caller
from controller.decisions.context import Context
from controller.decisions.versions import ExpectedVersion, check_version
from controller.results.result import ControllerResult
from controller.rights.guard import Guard
from controller.rights.object_rights import require_seen
from controller.wire import from_wire, to_wire
from records.errors import RequestError


class Command(msgspec.Struct, frozen=True):
    """A decision, the type of its request, and the rights it requires.

    Attributes:
        answer: The type of the response; None: as in the return annotation of `decide`.
        tells_versions: True if the answer includes the versions of the changed objects.
    """

    name: str
    request: Any
    decide: Callable[..., ControllerResult[Any]]
    guard: Guard
    answer: Any = None
    tells_versions: bool = True

    @property
    def response(self) -> Any:
        """The type of the decision's response."""
        return response_type(self.decide) if self.answer is None else self.answer

    def check_type(self, request: Any) -> None:
        """Check the type of a request, but not of its fields.

        Raises:
            RequestError: INVALID_REQUEST.
        """
        if isinstance(self.request, type) and not isinstance(request, self.request):
            wanted, given = self.request.__name__, type(request).__name__
            raise RequestError(
                "INVALID_REQUEST", f"{self.name}: the request is {given}, not {wanted}"
            )

    def check_fields(self, request: Any) -> None:
        """Check the types of a request's fields.

        Raises:
            RequestError: INVALID_REQUEST, names the wrong field.
        """
        try:
            payload = to_wire(request)
        except TypeError as error:
            raise RequestError("INVALID_REQUEST", f"{self.name}: {error}") from error
        from_wire(payload, self.request)

    def bound(
        self, request: Any, caller: Caller, expected_versions: tuple[ExpectedVersion, ...] = ()
    ) -> BoundDecision[Any]:
        """Return the decision bound to one request and limited to the caller's rights.

        Args:
            expected_versions: Versions that objects must have; the caller must be allowed to see
                them.
        """

        def decide(context: Context, request: Any) -> ControllerResult[Any]:
            context = replace(context, caller=caller)
            for expected in expected_versions:
                require_seen(context.access, expected.object)
                check_version(context.image, expected)
            return self.guard.decide(self.decide, context, request)

        return BoundDecision(
            self.name, decide, request, self.response, tells_versions=self.tells_versions
        )
