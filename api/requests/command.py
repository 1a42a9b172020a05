"""A command: a decision that can be run by name, with the rights that it requires."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from api.questions.table import at_place, guard_at, request_type
from controller.asked.asked import BoundDecision, response_type
from controller.authorization.caller import Caller
from controller.decisions.context.context import Context
from controller.decisions.versions import ExpectedVersion, check_version
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from controller.rights.guard import Guard
from controller.rights.object_rights import require_seen
from controller.wire import from_wire, to_wire
from records.errors import RequestError

ITEMS_MAX = 2_000
"""Maximum items of a request that changes something: each takes up to 24 us in one turn of the
event loop, so a larger request would block the loop for more than 50 ms."""

ISR_CHANGES_MAX = 1_000
"""Maximum partitions of one decision about ISR changes: each takes 15 to 20 us, with its result.
A request about more partitions is decided in parts."""


Decide = Callable[[Context, Any], ControllerResult[Any]]
DecideInTurns = Callable[[Context, Any], Turns[ControllerResult[Any]]]


class Command(msgspec.Struct, frozen=True):
    """A decision that can be run by name; its parts are imported on first use.

    Attributes:
        place: The function that makes the decision, as `MODULE:FUNCTION`.
        right: The place of its guard, as in `guard_at`.
        example: A request as JSON, for the OpenAPI document; None if there is no such operation.
        struct: The request's struct, beside the function, if the command takes the value of the
            struct's single field.
        tells_versions: True if the answer includes the versions of the changed objects.
        items_max: Maximum of items in a request; None: only the limit of a batch applies.
        turns: The place of the function that decides in several turns of the event loop; None:
            the decision takes one.
        name: The command's name, set by the table of commands.
    """

    place: str
    right: str
    example: dict[str, Any] | None = None
    struct: str | None = None
    tells_versions: bool = True
    items_max: int | None = ITEMS_MAX
    turns: str | None = None
    name: str = ""

    @property
    def decide(self) -> Decide:
        """The function that makes the decision."""
        found: Decide = at_place(self.place)
        return found

    @property
    def in_turns(self) -> DecideInTurns | None:
        """The function that makes the decision in several turns; None if it takes one."""
        if self.turns is None:
            return None
        found: DecideInTurns = at_place(self.turns)
        return found

    @property
    def request(self) -> Any:
        """The type of the request."""
        return request_type(self.place)

    @property
    def request_struct(self) -> Any:
        """The struct of the request: its type, or the struct whose only field has the request's
        type.
        """
        if self.struct is None:
            return self.request
        return at_place(f"{self.place.partition(':')[0]}:{self.struct}")

    @property
    def guard(self) -> Guard:
        """The rights that the command requires."""
        return guard_at(self.right)

    @property
    def is_question(self) -> bool:
        """True if it changes nothing, whatever the request."""
        return False

    @property
    def response(self) -> Any:
        """The type of the decision's response."""
        return response_type(self.decide)

    def count(self, request: Any) -> int:
        """Return the number of items in a request's own lists and maps."""
        if not isinstance(request, msgspec.Struct):
            return 0
        values = [getattr(request, name) for name in request.__struct_fields__]
        return sum(len(value) for value in values if isinstance(value, tuple | list | Mapping))

    def check_type(self, request: Any) -> None:
        """Check the type of a request, but not of its fields.

        Raises:
            RequestError: INVALID_REQUEST.
        """
        if isinstance(self.request, type) and not isinstance(request, self.request):
            wanted, given = self.request.__name__, type(request).__name__
            raise RequestError(
                "INVALID_REQUEST", f"{self.name}: the request is of type {given}, not {wanted}"
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

    def check_items(self, request: Any) -> None:
        """Refuse a request whose decision, which nothing interrupts, would delay all others.

        Raises:
            RequestError: MESSAGE_TOO_LARGE; or as `count`.
        """
        if self.items_max is not None and self.count(request) > self.items_max:
            raise RequestError(
                "MESSAGE_TOO_LARGE",
                f"{self.name}: a request has at most {self.items_max} items; send several requests",
            )

    def bound(
        self, request: Any, caller: Caller, expected_versions: tuple[ExpectedVersion, ...] = ()
    ) -> BoundDecision[Any]:
        """Return the decision bound to one request and limited to the caller's rights.

        Args:
            expected_versions: Versions that objects must have; the caller must be allowed to see
                them.
        """

        def checked(context: Context) -> Context:
            context = replace(context, caller=caller)
            for expected in expected_versions:
                require_seen(context.access, expected.object)
                check_version(context.image, expected)
            return context

        def decide(context: Context, request: Any) -> ControllerResult[Any]:
            return self.guard.decide(self.decide, checked(context), request)

        def turns(context: Context, request: Any) -> Turns[ControllerResult[Any]]:
            assert self.in_turns is not None, "only bound then"
            return self.guard.decide_in_turns(self.in_turns, checked(context), request)

        return BoundDecision(
            self.name,
            decide,
            request,
            self.response,
            tells_versions=self.tells_versions,
            in_turns=None if self.in_turns is None else turns,
        )
