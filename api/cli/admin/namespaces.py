"""Namespaces: create, list, delete; and moving topics between them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.changing import changing
from api.cli.admin.looking_at import Look, reading
from api.cli.admin.namespace_effects import (
    deletion_json,
    deletion_lines,
    effect_lines,
    effects_json,
)
from api.cli.admin.options import ValidateOnly
from api.cli.admin.parsing import topic_ref
from api.cli.admin.subscriptions import warning_lines, warnings_json
from api.cli.output import print_json, print_table
from api.cli.typer_app import App

if TYPE_CHECKING:
    from controller.decisions.namespaces import NamespaceResult

app = App()

_Name = Annotated[
    str, typer.Argument(metavar="NAMESPACE", help="Such as org:apache.", show_default=False)
]


@changing(app)
def create(ask: AdminClient, name: _Name, validate_only: ValidateOnly = False) -> int:
    """Create a namespace, with every tier above it that does not exist yet."""
    from controller.decisions.namespaces import CreateNamespace

    told = ask.run("namespaces create", CreateNamespace(name, validate_only))
    matched = told.response.subscriptions
    items = _items("can create" if validate_only else "created", told.response)
    items[-1] = replace(
        items[-1], lines=(*items[-1].lines, *warning_lines(matched, f"topics in {name}"))
    )
    return ask.report(told, items, validate_only=validate_only, **warnings_json(matched))


@changing(app)
def delete(
    ask: AdminClient,
    name: _Name,
    recursive: Annotated[
        bool, typer.Option("--recursive", help="With all namespaces below it.")
    ] = False,
    validate_only: ValidateOnly = False,
) -> int:
    """Delete a namespace, with its topics, configs and ACLs; --validate-only lists them."""
    from controller.decisions.namespaces import DeleteNamespace

    request = DeleteNamespace(name=name, recursive=recursive, validate_only=validate_only)
    told = ask.run("namespaces delete", request)
    verb = "can delete" if validate_only else "deleted"
    items = _items(verb, told.response)
    more = deletion_lines(told.response, verb)
    items[-1] = replace(items[-1], lines=(*items[-1].lines, *more))
    return ask.report(told, items, validate_only=validate_only, **deletion_json(told.response))


@changing(app)
def move(
    ask: AdminClient,
    from_: Annotated[str, typer.Option("--from", metavar="NS", help='"" is the default one.')],
    to: Annotated[str, typer.Option("--to", metavar="NS", help='"" is the default one.')],
    topic: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Only this one of its topics, by name or @ID."),
    ] = None,
    validate_only: ValidateOnly = False,
) -> int:
    """Move all topics of a namespace, or one; ids, partitions, configs and history stay.

    Says what changes for clients, brokers, inherited configs, ACLs and subscriptions; with
    --validate-only beforehand.
    """
    from controller.decisions.namespaces import MoveTopics

    ref = None if topic is None else topic_ref(topic)
    request = MoveTopics(
        from_namespace=from_, to_namespace=to, topic=ref, validate_only=validate_only
    )
    told = ask.run("topics move", request)
    verb, effects = "can move" if validate_only else "moved", told.response.effects
    items = [
        Item(fields={"topic": name}, lines=(f"{verb} {name} to {to or 'the default namespace'}",))
        for name in told.response.topics
    ]
    more = {} if effects is None else {"effects": effects_json(effects)}
    if items and effects is not None:
        items[-1] = replace(items[-1], lines=(*items[-1].lines, *effect_lines(effects)))
    return ask.report(told, items, validate_only=validate_only, **more)


@reading(app, "list")
def list_(
    look: Look,
    below: Annotated[
        str, typer.Argument(metavar="[NAMESPACE]", help="Only what is below it.")
    ] = "",
) -> None:
    """List namespaces, with how many topics lie right in each."""
    from api.questions.descriptions import NAMESPACES
    from controller.descriptions.queries import ListNamespaces
    from records.text import uuid_text

    answer, about = look.answer(NAMESPACES, ListNamespaces(below=below))
    found = [
        {
            "name": n.name,
            "namespace_id": uuid_text(n.namespace_id),
            "topics": n.topics,
            "version": n.version,
        }
        for n in answer
    ]
    if look.json:
        print_json({**about, "namespaces": found})
    else:
        print_table(("namespace", "id", "topics", "version"), [tuple(n.values()) for n in found])


def _items(verb: str, result: "NamespaceResult") -> list[Item]:
    topics = [
        Item(fields={"topic": name}, lines=(f"{verb} topic {name}",)) for name in result.topics
    ]
    namespaces = [
        Item(fields={"namespace": name}, lines=(f"{verb} namespace {name}",))
        for name in result.namespaces
    ]
    return topics + namespaces
