"""Something that the controller shall decide, and who wants to hear the answer."""

from asyncio import Future
from collections.abc import Callable
from typing import Any

import msgspec

from controller.controller import Controller
from controller.decisions.context import Context
from controller.parking import Answer
from controller.result import ControllerResult
from records.envelope import Origin


def _nobody(_: Any) -> None:
    """The answer is of no interest."""


class Event(msgspec.Struct, frozen=True):
    """A request to the controller, not yet made.

    `kind` is what the summary counts it under. `hear` gets the response; a refusal is heard by
    nobody, as by people who try again another day.
    """

    kind: str
    submit: Callable[[Controller], "Future[Answer[Any]]"]
    hear: Callable[[Any], None] = _nobody


def event(
    kind: str,
    decision: Callable[[Context, Any], ControllerResult[Any]],
    request: object,
    origin: Origin | None,
    *,
    hear: Callable[[Any], None] = _nobody,
) -> Event:
    """Make an event of a decision and its request."""
    return Event(
        kind,
        lambda controller: controller.submit(
            lambda context: decision(context, request), origin=origin
        ),
        hear,
    )


def own_event(
    kind: str, decision: Callable[[Context], ControllerResult[Any]], origin: Origin
) -> Event:
    """Make an event of a decision that the controller takes on its own."""
    return Event(kind, lambda controller: controller.submit(decision, origin=origin))
