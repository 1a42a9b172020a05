"""Rights required for subscriptions, and the subscriptions that a caller sees in warnings.

A consumer needs READ on its group (Kafka's right to join it), which implies DESCRIBE. Warnings
contain groups and patterns, so they show only groups that the caller may DESCRIBE.
"""

from typing import Any

from msgspec.structs import replace

from controller.authorization.authorizer import Access, Operation, group_resource
from controller.decisions.namespaces.namespaces import NamespaceResult
from controller.decisions.topics.subscriptions import Subscription
from controller.decisions.topics.topics import TopicResult
from controller.rights.guard import Guard


def _of_group(operation: Operation) -> Guard:
    return Guard(
        check=lambda access, request: access.require(operation, group_resource(request.group))
    )


def groups_seen(
    access: Access, found: tuple[Subscription, ...] | None
) -> tuple[Subscription, ...] | None:
    """Return the subscriptions whose groups the caller may see."""
    return None if found is None else _seen(access, found)


def _seen(access: Access, found: tuple[Subscription, ...]) -> tuple[Subscription, ...]:
    return tuple([s for s in found if access.allows(Operation.DESCRIBE, group_resource(s.group))])


def topics_warned(
    access: Access, _: Any, results: tuple[TopicResult, ...]
) -> tuple[TopicResult, ...]:
    """Return the topic results, with hidden consumer groups removed from the warnings."""
    return tuple(
        [
            replace(result, subscriptions=groups_seen(access, result.subscriptions))
            for result in results
        ]
    )


def namespaces_warned(access: Access, _: Any, result: NamespaceResult) -> NamespaceResult:
    """Return the namespace result, with hidden consumer groups removed from the warnings."""
    return replace(result, subscriptions=groups_seen(access, result.subscriptions))


REGISTER_SUBSCRIPTION = _of_group(Operation.READ)
DELETE_SUBSCRIPTION = _of_group(Operation.DELETE)
LIST_SUBSCRIPTIONS = Guard(shown=lambda access, _, found: _seen(access, found))
