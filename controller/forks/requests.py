"""Logged decisions, bound again to their requests and to the other inputs that they read."""

from collections.abc import Callable, Sequence
from typing import Any

from controller.asked.asked import BoundDecision, request_of
from controller.asked.observed import LazyRandom, recorded
from controller.authorization.caller import Caller
from controller.decisions.context.context import Context, Settings
from controller.decisions.context.sessions import Sessions
from controller.decisions.features.levels_in_use import bootstrap
from controller.forks.commands import Command, Commands
from controller.forks.recorded import payloads
from controller.pipeline.latest import State
from controller.raw_appends.raw_append import AppendRecords, AppendRows, append_records
from controller.results.result import ControllerResult
from controller.timers import TIMERS
from records.envelope import Asked, Envelope
from records.errors import RequestError

BOOTSTRAP = "bootstrap"

_TIMERS = {timer.name: timer.decide for timer in TIMERS}


def past_context(
    rows: Sequence[Envelope], state: State, settings: Settings, asked: Asked | None = None
) -> Context:
    """Return the context in which a past decision was made.

    The request's id is in the last row's batch, so the origin is taken from there.

    Args:
        rows: The rows that the decision wrote.
        state: The state to decide on.
        asked: The decision's logged inputs; if None, the context has no sessions, and the random
            numbers depend on the offset only.
    """
    origin = rows[-1].origin
    context = Context(
        image=state.image,
        lazy_index=state.lazy_index,
        sessions=Sessions(timeout_ms=settings.session_timeout_ms),
        settings=settings,
        rng=LazyRandom(rows[0].offset),
        now_ms=rows[0].timestamp,
        # An added decision stands at an offset that is taken already.
        next_offset=max(rows[0].offset, state.image.provenance.next_offset),
        origin=origin,
        caller=Caller(principal=(origin and origin.principal) or ""),
    )
    return context if asked is None else recorded(context, asked)


def bound_again(asked: Asked, rows: Sequence[Envelope], commands: Commands) -> BoundDecision[Any]:
    """Return the decision that wrote some rows, bound to its request.

    Raises:
        RequestError: the request was not logged, or the command is not known.
    """
    if asked.command in _TIMERS:
        return BoundDecision(asked.command, _TIMERS[asked.command])
    if asked.command == BOOTSTRAP:
        levels = request_of(asked, dict[str, int], payloads(rows))
        return BoundDecision(BOOTSTRAP, bootstrap, levels)
    command = _find(rows, commands)(asked.command)
    return bound_to(command, request_of(asked, command.request, payloads(rows)))


def bound_to(command: Command, request: Any) -> BoundDecision[Any]:
    """Return a command's decision, bound to a request."""
    guard, decide = command.guard, command.decide
    return BoundDecision(
        command.name,
        lambda context, request: guard.decide(decide, context, request),
        request,
        command.response,
    )


def _find(rows: Sequence[Envelope], commands: Commands) -> Callable[[str], Command]:
    """Return a function that finds a command by name; the append command takes its records from the
    rows.
    """

    def found(name: str) -> Command:
        command = commands.all.get(name)
        if command is None:
            raise RequestError("INVALID_REQUEST", f"there is no command {name!r}")
        decide = command.decide
        if name == commands.append:
            decide = _append(rows)
        elif name == commands.transaction:
            decide = _transact(rows, commands)
        return Command(command.name, command.request, command.response, decide, command.guard)

    return found


def _append(rows: Sequence[Envelope]) -> Callable[..., ControllerResult[Any]]:
    def decide(context: Context, request: AppendRows) -> ControllerResult[Any]:
        start = context.next_offset - rows[0].offset
        # A step of a transaction says how many are its own; else it is the whole batch.
        end = start + request.count if request.count else len(rows)
        return append_records(
            context,
            AppendRecords(
                records=payloads(rows[start:end]),
                expected_end_offset=request.expected_end_offset,
                expected_versions=request.expected_versions,
            ),
        )

    return decide


def _transact(rows: Sequence[Envelope], commands: Commands) -> Callable[..., ControllerResult[Any]]:
    def decide(context: Context, request: Any) -> ControllerResult[Any]:
        return commands.transact(context, request, _find(rows, commands))

    return decide
