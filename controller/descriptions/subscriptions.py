"""Descriptions of the registered patterns of consumer groups."""

from controller.decisions.request import Request
from controller.decisions.topics.subscriptions import Subscription
from controller.descriptions.view import View


class ListSubscriptions(Request["tuple[Subscription, ...]"], frozen=True, kw_only=True):
    """A request for the registered patterns of consumer groups."""


def subscriptions_listed(view: View, request: ListSubscriptions) -> tuple[Subscription, ...]:
    """List subscriptions, ordered by group."""
    return tuple([Subscription(*item) for item in sorted(view.index.subscriptions.items())])
