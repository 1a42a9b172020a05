"""Prints what goes with a namespace, and what a move of topics changes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from api.cli.admin import acl_options
from api.cli.output import count_text

if TYPE_CHECKING:
    from controller.decisions.acls import AclFound
    from controller.decisions.move_effects import MoveEffects
    from controller.decisions.namespaces import DeletedConfigs, NamespaceResult
    from controller.decisions.subscriptions import Subscription


def deletion_lines(result: "NamespaceResult", verb: str) -> tuple[str, ...]:
    """Return what goes besides topics and namespaces, as lines of text."""
    configs = [f"{verb} {', '.join(each.names)} of {_resource(each)}" for each in result.configs]
    acls = [f"{verb} {acl_line(acl)}" for acl in result.acls or ()]
    partitions = [f"{verb} {count_text(result.partitions, 'partition')}"] * bool(result.topics)
    return (*partitions, *configs, *acls)


def deletion_json(result: "NamespaceResult") -> dict[str, Any]:
    """Return what goes besides topics and namespaces, as JSON fields."""
    return {
        "partitions": result.partitions,
        "configs": [
            {"resource": _resource(each), "names": list(each.names)} for each in result.configs
        ],
        "acls": _acls_json(result.acls),
    }


def effect_lines(effects: "MoveEffects") -> tuple[str, ...]:
    """Return what a move changes, as lines of text."""
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


def effects_json(effects: "MoveEffects") -> dict[str, Any]:
    """Return what a move changes as JSON; null stands for what the caller may not know."""
    from msgspec import to_builtins

    document: dict[str, Any] = to_builtins(effects)
    document["acls_lost"] = _acls_json(effects.acls_lost)
    document["acls_gained"] = _acls_json(effects.acls_gained)
    return document


def _resource(configs: "DeletedConfigs") -> str:
    from replay.image.configs import RESOURCE_NAMES

    return f"{RESOURCE_NAMES[configs.resource_type]}/{configs.resource_name}"


def acl_line(acl: "AclFound") -> str:
    """Return an entry with its id."""
    from records.text import uuid_text

    return f"acl:{uuid_text(acl.acl_id)}: {acl_options.acl_text(acl)}"


def _acls_json(acls: "Sequence[AclFound] | None") -> list[dict[str, Any]] | None:
    return None if acls is None else [acl_options.acl_json(acl) for acl in acls]


def _subscription_lines(found: "Sequence[Subscription] | None", when: str) -> list[str]:
    return [
        f"  WARNING: the pattern {s.pattern!r} of group {s.group} matches {when}"
        for s in found or ()
    ]
