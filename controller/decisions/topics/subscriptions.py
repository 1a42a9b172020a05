"""Subscriptions: the topics that a consumer group consumes, given by a regular expression.

A group registers its pattern once, and again when it changes. The pattern is stored as a config of
the group, so it survives restarts and failovers and has a history. When topics or namespaces are
created, the caller is warned about patterns that match more topics from then on.

Source: KIP-37 (regular expressions meet namespaces), KIP-848 (SubscribedTopicRegex).
"""

from collections.abc import Callable

import msgspec

from controller.decisions.context.cluster_index import SUBSCRIBED_PATTERN
from controller.decisions.context.context import Context
from controller.decisions.request import Request
from controller.decisions.topics.patterns import Pattern, kept_pattern
from controller.results.result import ControllerResult
from records.configs import ConfigRecord
from records.errors import RequestError
from replay.image.configs import GROUP

SUBSCRIPTIONS_MAX = 1_000
"""Maximum number of registered patterns: each new topic is matched with all of them."""

_GROUP_LENGTH_MAX = 255

# Characters read to find the patterns that one request widens: 0.05 s with patterns of people,
# below 1 s with the worst.
_STEPS_MAX = 100_000


class RegisterSubscription(Request["Subscription"], frozen=True, kw_only=True):
    """A request to set the pattern of a group."""

    group: str
    pattern: str


class DeleteSubscription(Request["Subscription"], frozen=True, kw_only=True):
    """A request to delete the pattern of a group."""

    group: str


class Subscription(msgspec.Struct, frozen=True):
    """A group and its pattern for full topic names."""

    group: str
    pattern: str


def register_subscription(
    context: Context, request: RegisterSubscription
) -> ControllerResult[Subscription]:
    """Set the pattern of a group; writes nothing if the group already has that pattern.

    Raises:
        RequestError: INVALID_REGULAR_EXPRESSION, INVALID_GROUP_ID, or POLICY_VIOLATION: too many
            groups have patterns.
    """
    group, pattern = request.group, request.pattern
    if not 0 < len(group) <= _GROUP_LENGTH_MAX:
        raise RequestError(
            "INVALID_GROUP_ID",
            f"the name of the group has {len(group)} characters; expected 1 to {_GROUP_LENGTH_MAX}",
        )
    kept_pattern(pattern)
    known = context.index.subscriptions
    if group not in known and len(known) >= SUBSCRIPTIONS_MAX:
        raise RequestError(
            "POLICY_VIOLATION",
            f"at most {SUBSCRIPTIONS_MAX} groups may have registered patterns",
        )
    is_new = known.get(group) != pattern
    return ControllerResult(
        response=Subscription(group, pattern),
        records=(_record(group, pattern),) if is_new else (),
    )


def delete_subscription(
    context: Context, request: DeleteSubscription
) -> ControllerResult[Subscription]:
    """Delete the pattern of a group.

    Raises:
        RequestError: GROUP_ID_NOT_FOUND, the group has no pattern.
    """
    pattern = context.index.subscriptions.get(request.group)
    if pattern is None:
        raise RequestError(
            "GROUP_ID_NOT_FOUND", f"group {request.group!r} has no registered pattern"
        )
    return ControllerResult(
        response=Subscription(request.group, pattern), records=(_record(request.group, None),)
    )


def _record(group: str, pattern: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=GROUP, resource_name=group, name=SUBSCRIBED_PATTERN, value=pattern
    )


class SubscriptionMatcher:
    """Finds the subscriptions that match the topics and namespaces of one request.

    The methods return None once matching has taken too many steps, as the result is only a warning.
    """

    def __init__(self, context: Context) -> None:
        """Use the subscriptions of a context, skipping those with invalid patterns."""
        self._subscriptions = [
            (Subscription(group, pattern), parsed)
            for group, pattern in sorted(context.index.subscriptions.items())
            if (parsed := _parsed(pattern)) is not None
        ]
        self._steps_left = _STEPS_MAX

    def of_topic(self, full_name: str) -> tuple[Subscription, ...] | None:
        """Return the subscriptions that match a topic, ordered by group."""
        return self._found(lambda pattern: pattern.matches(full_name))

    def of_namespaces(self, names: tuple[str, ...]) -> tuple[Subscription, ...] | None:
        """Return the subscriptions that match possible topics directly in the given namespaces."""
        return self._found(lambda pattern: any(map(pattern.matches_topics_in, names)))

    def _found(self, is_match: Callable[[Pattern], bool]) -> tuple[Subscription, ...] | None:
        found = []
        for subscription, pattern in self._subscriptions:
            if self._steps_left <= 0:
                return None
            before = pattern.steps
            if is_match(pattern):
                found.append(subscription)
            self._steps_left -= pattern.steps - before + 1
        return tuple(found)


def _parsed(pattern: str) -> Pattern | None:
    try:
        return kept_pattern(pattern)
    except RequestError:
        return None  # written by other means
