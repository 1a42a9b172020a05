"""Prints everything that is deleted with a namespace, and the effects of moving topics."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from api.cli.terminal.output import count_text
from records.text import uuid_text

if TYPE_CHECKING:
    from controller.decisions.namespaces.move_effects import MoveEffects
    from controller.decisions.namespaces.namespaces import NamespaceResult
    from controller.decisions.security.acls import AclFound
    from controller.decisions.topics.subscriptions import Subscription


def deletion_lines(result: "NamespaceResult", verb: str) -> tuple[str, ...]:
    """Return lines about the deleted partitions, configs and ACLs; not topics and namespaces."""
    from api.documents.namespaces import DeletedConfigs

    gone = map(DeletedConfigs.of, result.configs)
    configs = [f"{verb} {', '.join(each.names)} of {each.resource}" for each in gone]
    acls = [f"{verb} {acl_line(acl)}" for acl in result.acls or ()]
    partitions = [f"{verb} {count_text(result.partitions, 'partition')}"] * bool(result.topics)
    return (*partitions, *configs, *acls)


def effect_lines(effects: "MoveEffects") -> tuple[str, ...]:
    """Return the effects of a move of topics as lines of text."""
    brokers = ",".join(map(str, effects.brokers))
    partitions = count_text(effects.partitions, "partition")
    return (
        "  clients that use the old names get UNKNOWN_TOPIC_OR_PARTITION; those that use ids go on",
        f"  brokers [{brokers}] rename the folders of {partitions}",
        *(
            f"  {c.name} becomes {c.after} instead of {c.before}, from {c.source}"
            f"{f' {c.resource_name}' if c.resource_name else ''}, "
            f"for {count_text(c.topics, 'topic')}"
            for c in effects.configs or ()
        ),
        *(f"  counts no more: {acl_line(acl)}" for acl in effects.acls_lost or ()),
        *(f"  counts from now on: {acl_line(acl)}" for acl in effects.acls_gained or ()),
        *_subscription_lines(effects.subscriptions_lost, "no more"),
        *_subscription_lines(effects.subscriptions_gained, "from now on"),
    )


def acl_line(acl: "AclFound") -> str:
    """Return an ACL and its id as text."""
    from replay.acl_words import acl_text

    return f"acl:{uuid_text(acl.acl_id)}: {acl_text(acl)}"


def _subscription_lines(found: "Sequence[Subscription] | None", when: str) -> list[str]:
    return [
        f"  WARNING: the pattern {s.pattern!r} of group {s.group} matches {when}"
        for s in found or ()
    ]
