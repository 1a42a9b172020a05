"""Namespaces: create, list, delete; and moving topics between them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.namespace_effects import deletion_lines, effect_lines
from api.cli.admin.options import ValidateOnly
from api.cli.admin.subscriptions import warning_lines
from api.cli.admin.texts import topic_ref
from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.terminal.output import print_table

if TYPE_CHECKING:
    from api.documents.namespaces import Namespace, NamespaceList
    from controller.decisions.namespaces.namespaces import NamespaceResult

app = App()

_Name = Annotated[
    str,
    Argument(
        metavar="NAMESPACE",
        help="Full name of a namespace, such as org:apache.",
        show_default=False,
    ),
]


@changing(app)
def create(ask: AdminClient, name: _Name, validate_only: ValidateOnly = False) -> int:
    """Create a namespace, with every tier above it that does not exist yet."""
    from api.documents.changes import Matched
    from controller.decisions.namespaces.namespaces import CreateNamespace

    result = ask.run("namespaces create", CreateNamespace(name, validate_only))
    matched = result.response.subscriptions
    items = _items("can create" if validate_only else "created", result.response)
    items[-1] = replace(
        items[-1], lines=(*items[-1].lines, *warning_lines(matched, f"topics in {name}"))
    )
    return ask.report(result, items, validate_only=validate_only, more=Matched.of(matched))


@changing(app)
def delete(
    ask: AdminClient,
    name: _Name,
    recursive: Annotated[
        bool, Option("--recursive", help="Also delete all namespaces below this one.")
    ] = False,
    validate_only: ValidateOnly = False,
) -> int:
    """Delete a namespace, with its topics, configs and ACLs; --validate-only lists them."""
    from api.documents.namespaces import Deletion
    from controller.decisions.namespaces.namespaces import DeleteNamespace

    request = DeleteNamespace(name=name, recursive=recursive, validate_only=validate_only)
    result = ask.run("namespaces delete", request)
    verb = "can delete" if validate_only else "deleted"
    items = _items(verb, result.response)
    more = deletion_lines(result.response, verb)
    items[-1] = replace(items[-1], lines=(*items[-1].lines, *more))
    gone = Deletion.of(result.response)
    return ask.report(result, items, validate_only=validate_only, more=gone)


@changing(app)
def move(
    ask: AdminClient,
    from_: Annotated[
        str, Option("--from", metavar="NS", help='Namespace of the topics; "" is the default one.')
    ],
    to: Annotated[
        str, Option("--to", metavar="NS", help='Namespace to move to; "" is the default one.')
    ],
    topic: Annotated[
        str | None,
        Option(metavar="TOPIC", help="Move only this topic, by name or @ID."),
    ] = None,
    validate_only: ValidateOnly = False,
) -> int:
    """Move all topics of a namespace, or one topic; ids, partitions, configs and history stay.

    Prints what changes for clients, brokers, inherited configs, ACLs and subscriptions; with
    --validate-only, nothing is moved.
    """
    from api.documents.changes import TopicNamed
    from api.documents.namespaces import Moved, MoveEffects
    from controller.decisions.namespaces.namespaces import MoveTopics

    ref = None if topic is None else topic_ref(topic)
    request = MoveTopics(
        from_namespace=from_, to_namespace=to, topic=ref, validate_only=validate_only
    )
    result = ask.run("topics move", request)
    verb, effects = "can move" if validate_only else "moved", result.response.effects
    items = [
        Item(
            answer=TopicNamed(topic=name),
            lines=(f"{verb} {name} to {to or 'the default namespace'}",),
        )
        for name in result.response.topics
    ]
    more = None if effects is None else Moved(effects=MoveEffects.of(effects))
    if items and effects is not None:
        items[-1] = replace(items[-1], lines=(*items[-1].lines, *effect_lines(effects)))
    return ask.report(result, items, validate_only=validate_only, more=more)


@reading(app, "list")
def list_(
    look: Look,
    below: Annotated[
        str, Argument(metavar="[NAMESPACE]", help="Only the namespaces below this one.")
    ] = "",
) -> None:
    """List namespaces: the topics directly in each, and how much of its limits is used."""
    from controller.descriptions.namespaces import ListNamespaces

    look.show("namespaces list", ListNamespaces(below=below), _print_namespaces)


def _print_namespaces(found: "NamespaceList") -> None:
    header = ("namespace", "id", "topics", "version", "all topics", "partitions")
    print_table(header, [_row(namespace) for namespace in found.namespaces])


def _row(n: "Namespace") -> tuple[object, ...]:
    return (
        *(n.name, n.namespace_id, n.topics, n.version),
        _of(n.use.topics, n.limits.topics),
        _of(n.use.partitions, n.limits.partitions),
    )


def _of(used: int, limit: float | None) -> str:
    return str(used) if limit is None else f"{used} of {limit:g}"


def _items(verb: str, result: "NamespaceResult") -> list[Item]:
    from api.documents.changes import NamespaceNamed, TopicNamed

    topics = [
        Item(answer=TopicNamed(topic=name), lines=(f"{verb} topic {name}",))
        for name in result.topics
    ]
    namespaces = [
        Item(answer=NamespaceNamed(namespace=name), lines=(f"{verb} namespace {name}",))
        for name in result.namespaces
    ]
    return topics + namespaces
