"""Several commands as one atomic request."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from api.requests.command import Command
from controller.authorization.authorizer import Access
from controller.decisions.context.context import Context
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from controller.rights.guard import Guard
from controller.steps import Steps
from controller.wire import from_wire, to_wire
from records.command_names import logged_name
from records.errors import RequestError

NAME = "transaction"
"""Name of the command and of its BeginTransactionRecord."""

STEPS_MAX = 1_000
"""Maximum steps, and items in all steps together; more would delay all other requests."""


class Step(msgspec.Struct, frozen=True, dict=True):
    """A command's name, and its request encoded by `controller.wire`.

    The name is the one in logs, even if the step is made with the command line's verb.
    """

    command: str
    request: bytes

    def __post_init__(self) -> None:
        """Replace the command line's verb by the logged name, so that both give the same hash."""
        msgspec.structs.force_setattr(self, "command", logged_name(self.command))

    def request_as(self, as_type: Any) -> Any:
        """Return the decoded request; it is decoded once, however often it is read.

        Raises:
            RequestError: INVALID_REQUEST, it is not of this type.
        """
        known = self.__dict__.get("_decoded")
        if known is None or known[0] is not as_type:
            known = self.__dict__["_decoded"] = as_type, from_wire(self.request, as_type)
        return known[1]

    @classmethod
    def of(cls, command: str, request: Any) -> "Step":
        """Return the step for a command and its request."""
        return cls(command, to_wire(request))


class Transact(Request["Transacted"], frozen=True, kw_only=True):
    """Commands to run one after the other, atomically: either all are carried out, or none."""

    steps: tuple[Step, ...]
    validate_only: bool = False


class StepDone(msgspec.Struct, frozen=True):
    """The response to one step, encoded by `controller.wire`."""

    command: str
    response: bytes


class Transacted(msgspec.Struct, frozen=True):
    """The result of each step."""

    steps: tuple[StepDone, ...]


Find = Callable[[str], Command]


_STEPS_IN_TURN = 100
"""Steps that are decided in one turn of the event loop, unless they take several."""


def transact(context: Context, request: Transact, find: Find) -> ControllerResult[Transacted]:
    """Decide all steps, each on the state left by the previous ones.

    Raises:
        RequestError: a step or one of its items is refused, and the message names the step; or
            UNSUPPORTED_VERSION, the metadata.version has no transactions; or INVALID_REQUEST, there
            are no steps, or too many.
    """
    return whole(transact_in_turns(context, request, find))


def transact_in_turns(
    context: Context, request: Transact, find: Find
) -> Turns[ControllerResult[Transacted]]:
    """Decide as `transact` does, in several turns of the event loop."""
    _check_count(request)
    steps = Steps(context)
    done = []
    for number, step in enumerate(request.steps, 1):
        try:
            done.append((yield from _decided(steps, step, find)))
        except RequestError as error:
            raise _of_step(error, number, request) from error
        if number % _STEPS_IN_TURN == 0:
            yield
    return steps.result(Transacted(tuple(done)), NAME).unless(request.validate_only)


def requests_of(request: Transact, find: Find) -> Iterator[Any]:
    """Yield the request of each step.

    Raises:
        RequestError: INVALID_REQUEST, a step cannot be decoded, or its command is unknown.
    """
    for step in request.steps:
        yield _asked(step, find)[1]


def item_count(request: Transact, find: Find) -> int:
    """Return the number of items in all steps together; stops counting above STEPS_MAX.

    Raises:
        RequestError: a step cannot be decoded, or has more items than its command may have.
    """
    count = 0
    for number, step in enumerate(request.steps, 1):
        try:
            command, wanted = _asked(step, find)
            command.check_items(wanted)
        except RequestError as error:
            raise _of_step(error, number, request) from error
        count += command.count(wanted)
        if count > STEPS_MAX:
            break
    return count


def guard(find: Find) -> Guard:
    """Return a guard that requires the rights of all steps, as far as known before the decision."""

    def check(access: Access, request: Transact) -> None:
        for number, step in enumerate(request.steps, 1):
            try:
                command, wanted = _asked(step, find)
                command.guard.check_all(access, wanted)
            except RequestError as error:
                raise _of_step(error, number, request) from error

    return Guard(check=check)


def _decided(steps: Steps, step: Step, find: Find) -> Turns[StepDone]:
    command, request = _asked(step, find)
    guard, in_turns = command.guard, command.in_turns
    if in_turns is None:
        response = steps.take(lambda context: guard.decide(command.decide, context, request))
    else:
        response = yield from steps.take_in_turns(
            lambda context: guard.decide_in_turns(in_turns, context, request)
        )
    for refusal in _refusals(response):
        raise RequestError(refusal.code, refusal.message, retry_ms=refusal.retry_ms)
    return StepDone(step.command, to_wire(response))


def _asked(step: Step, find: Find) -> tuple[Command, Any]:
    if step.command == NAME:
        raise RequestError("INVALID_REQUEST", "a transaction cannot hold another one")
    command = find(step.command)
    return command, step.request_as(command.request)


def _refusals(response: Any) -> Iterable[Refusal]:
    """Yield all refusals in a step's response: its own, and those of its items.

    One refusal is enough to refuse the whole transaction.
    """
    if isinstance(response, tuple):
        for item in response:
            yield from _refusals(item)
    elif isinstance(response, msgspec.Struct):
        refusal = getattr(response, "refusal", None)
        if refusal is not None:
            yield refusal
        yield from _refusals(getattr(response, "topics", None))


def _check_count(request: Transact) -> None:
    if not 0 < len(request.steps) <= STEPS_MAX:
        raise RequestError(
            "INVALID_REQUEST",
            f"a transaction has 1 to {STEPS_MAX} steps, not {len(request.steps)}",
        )


def _of_step(error: RequestError, number: int, request: Transact) -> RequestError:
    step = f"step {number} of {len(request.steps)} ({request.steps[number - 1].command})"
    message = f"{step}: {error}; nothing was done"
    return RequestError(error.code, message, retry_ms=error.retry_ms)
