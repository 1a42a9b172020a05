"""Events of the simulation: requests to the controller, with a callback for the response."""

from asyncio import Future
from collections.abc import Callable
from typing import Any

import msgspec

from controller.asked.asked import BoundDecision
from controller.asked.repeated_requests import identified
from controller.controller import Controller
from controller.decisions.brokers.deletion_reports import report_deletions
from controller.decisions.brokers.isr_proposals import alter_partition
from controller.decisions.brokers.registrations import register_broker, unregister_broker
from controller.decisions.configs.changes import alter_configs
from controller.decisions.context.context import Context
from controller.decisions.features.levels_in_use import update_features
from controller.decisions.namespaces.namespaces import (
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.partitions.elections import elect_leaders
from controller.decisions.topics.growth import create_partitions
from controller.decisions.topics.partition_removal import (
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.topics.topics import create_topics, delete_topics
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from controller.wire import to_wire
from records.envelope import Origin

COMMANDS: dict[Callable[..., ControllerResult[Any]], str] = {
    alter_configs: "configs alter",
    alter_partition: "alter partition",
    cancel_delete_partitions: "partitions cancel-delete",
    create_namespace: "namespaces create",
    create_partitions: "partitions create",
    create_topics: "topics create",
    delete_namespace: "namespaces delete",
    delete_partitions: "partitions delete",
    delete_topics: "topics delete",
    elect_leaders: "leaders elect",
    move_topics: "topics move",
    register_broker: "register",
    report_deletions: "report deletions",
    unregister_broker: "brokers unregister",
    update_features: "features update",
}
"""Names of requests in the log, the same that clients and brokers use (api.requests.commands)."""


def _nobody(_: Any) -> None:
    """Ignore the response."""


class Event(msgspec.Struct, frozen=True):
    """A request to the controller that has not been sent yet.

    `kind` is its line in the summary. `hear` is called with the response; refusals are ignored, as
    if the operators retry another day.
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
    """Make an event from a decision and its request."""
    bound = BoundDecision(COMMANDS[decision], decision, request)
    if origin is not None:
        origin = identified(origin, origin.request_id, bound.command, to_wire(request))
    return Event(kind, lambda controller: controller.submit(bound, origin=origin), hear)


def own_event(
    kind: str, decision: Callable[[Context], ControllerResult[Any]], origin: Origin
) -> Event:
    """Make an event from a decision that the controller makes on its own, without a request."""
    assert origin.command is not None
    bound: BoundDecision[Any] = BoundDecision(origin.command, decision)
    return Event(kind, lambda controller: controller.submit(bound, origin=origin))
