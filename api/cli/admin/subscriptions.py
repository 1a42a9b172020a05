"""Subscriptions of consumer groups by topic name pattern: register, list, delete."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.options.parameters import Argument
from api.cli.parser.typer_app import App
from api.cli.terminal.output import print_table

if TYPE_CHECKING:
    from api.documents.users import SubscriptionList
    from controller.decisions.topics.subscriptions import Subscription

app = App()

_Group = Annotated[str, Argument(metavar="GROUP", help="Consumer group.", show_default=False)]


@changing(app)
def register(
    ask: AdminClient,
    group: _Group,
    pattern: Annotated[
        str,
        Argument(
            metavar="REGEX", help="A regular expression for full topic names.", show_default=False
        ),
    ],
) -> int:
    """Set the pattern of the topics that a group consumes, replacing an earlier pattern."""
    from controller.decisions.topics.subscriptions import RegisterSubscription

    request = RegisterSubscription(group=group, pattern=pattern)
    result = ask.run("subscriptions register", request)
    return ask.report(result, [_item("registered", result.response)])


@changing(app)
def delete(ask: AdminClient, group: _Group) -> int:
    """Forget the pattern of a group."""
    from controller.decisions.topics.subscriptions import DeleteSubscription

    result = ask.run("subscriptions delete", DeleteSubscription(group=group))
    return ask.report(result, [_item("deleted", result.response)])


@reading(app, "list")
def list_(look: Look) -> None:
    """List the registered patterns, ordered by group."""
    from controller.descriptions.subscriptions import ListSubscriptions

    look.show("subscriptions list", ListSubscriptions(), _print_subscriptions)


def _print_subscriptions(found: "SubscriptionList") -> None:
    print_table(("group", "pattern"), [(s.group, s.pattern) for s in found.subscriptions])


def warning_lines(found: "Sequence[Subscription] | None", what: str) -> list[str]:
    """Return warnings about the subscriptions that match `what`, as lines of text.

    Args:
        found: None if there were too many subscriptions to check.
    """
    if found is None:
        return [f"  WARNING: too many registered patterns to say which match {what}"]
    return [
        f"  WARNING: the pattern {s.pattern!r} of group {s.group} matches {what}" for s in found
    ]


def _item(verb: str, subscription: "Subscription") -> Item:
    return Item(
        answer=subscription,
        lines=(f"{verb} the pattern {subscription.pattern!r} of group {subscription.group}",),
    )
