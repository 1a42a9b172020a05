"""Configs of topics, namespaces, brokers and the cluster: change and describe."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.changing import changing
from api.cli.admin.looking_at import Look, reading
from api.cli.admin.options import NamespaceOption, ValidateOnly
from api.cli.admin.parsing import config_pairs, topic_object, topic_ref
from api.cli.arguments import ShowSecrets
from api.cli.output import print_json, print_line, print_table
from api.cli.typer_app import App

if TYPE_CHECKING:
    from controller.decisions.configs import ConfigChange
    from controller.decisions.lookup import TopicRef
    from controller.descriptions.configs import ConfigSetting

app = App()

_Resource = Annotated[
    str,
    typer.Argument(
        metavar="RESOURCE",
        help="topic/NAME, topic/@ID, namespace/NAME, broker/ID, or cluster.",
        show_default=False,
    ),
]
_Pairs = Annotated[
    list[str], typer.Argument(metavar="NAME=VALUE...", help="Configs.", show_default=False)
]


@changing(app, "set")
def set_(
    ask: AdminClient,
    resource: _Resource,
    configs: _Pairs,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Set configs of a resource."""
    return _alter(ask, resource, namespace, _changes("set", configs), validate_only)


@changing(app)
def append(
    ask: AdminClient,
    resource: _Resource,
    configs: _Pairs,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Append items to configs that are lists."""
    return _alter(ask, resource, namespace, _changes("append", configs), validate_only)


@changing(app)
def subtract(
    ask: AdminClient,
    resource: _Resource,
    configs: _Pairs,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Take items out of configs that are lists."""
    return _alter(ask, resource, namespace, _changes("subtract", configs), validate_only)


@changing(app)
def delete(
    ask: AdminClient,
    resource: _Resource,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Configs.", show_default=False)
    ],
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Remove configs, so that the next level's value counts."""
    from controller.decisions.configs import ConfigChange, Operation

    changes = [ConfigChange(name, operation=Operation.DELETE) for name in names]
    return _alter(ask, resource, namespace, changes, validate_only)


@reading(app)
def describe(
    look: Look,
    resource: _Resource,
    namespace: NamespaceOption = "",
    all_: Annotated[
        bool,
        typer.Option("--all", help="Of a topic or namespace: also what it does not set itself."),
    ] = False,
    show_secrets: ShowSecrets = False,
) -> None:
    """Print the configs of a resource, their version, and which level sets each."""
    from msgspec import to_builtins

    from api.questions.descriptions import CONFIGS
    from controller.descriptions.queries import DescribeConfigs

    kind, name = _resource(resource, namespace)
    question = DescribeConfigs(resource_type=kind, resource_name=name, show_secrets=show_secrets)
    with look.explaining(_object(kind, name)):
        answer, about = look.answer(CONFIGS, question)
    found = [config for config in answer.configs if all_ or _is_own(config, kind, name)]
    if look.json:
        document = {"resource": resource, "version": answer.version}
        print_json({**about, **document, "configs": to_builtins(found)})
    else:
        print_line(f"{resource}  version {'absent' if answer.version is None else answer.version}")
        print_table(("config", "value", "set by"), [(c.name, c.value, _level(c)) for c in found])


def _alter(
    ask: AdminClient,
    resource: str,
    namespace: str,
    changes: "list[ConfigChange]",
    validate_only: bool,
) -> int:
    from controller.decisions.configs import AlterConfigs, ResourceChange

    kind, name = _resource(resource, namespace)
    change = ResourceChange(resource_type=kind, resource_name=name, changes=tuple(changes))
    told = ask.run("configs alter", AlterConfigs(resources=(change,), validate_only=validate_only))
    names = [change.name for change in changes]
    verb = "can be changed" if validate_only else "changed"
    items = [
        Item(
            fields={"resource": resource, "configs": names},
            lines=(f"{verb}: {', '.join(names)} of {resource}",),
            refusal=result.refusal,
        )
        for result in told.response
    ]
    return ask.report(told, items, validate_only=validate_only)


def _changes(operation: str, texts: list[str]) -> "list[ConfigChange]":
    from controller.decisions.configs import ConfigChange, Operation

    return [ConfigChange(name, value, Operation(operation)) for name, value in config_pairs(texts)]


def _resource(text: str, namespace: str) -> "tuple[int, TopicRef]":
    """Return type and name of `topic/NAME`, `namespace/NAME`, `broker/ID` or `cluster`."""
    from controller.decisions.effective_configs import CLUSTER_DEFAULT
    from controller.decisions.names import full_name
    from replay.image.configs import BROKER, NAMESPACE, TOPIC

    kind, slash, name = text.partition("/")
    if text == "cluster":
        return BROKER, CLUSTER_DEFAULT
    if kind == "topic" and name:
        return TOPIC, topic_ref(name, namespace)
    if kind == "namespace" and name:
        return NAMESPACE, full_name(namespace, name)
    if kind == "broker" and slash and name:
        return BROKER, name
    raise typer.BadParameter(
        f"{text!r} is none of topic/NAME, topic/@ID, namespace/NAME, broker/ID and cluster"
    )


def _object(kind: int, name: "TopicRef") -> str:
    """Return the name of what has the configs, as an object of the log's history."""
    from replay.image.configs import BROKER, NAMESPACE
    from replay.time_travel.escapes import escaped

    if kind == NAMESPACE:
        return f"namespace:{escaped(str(name))}"
    return f"broker:{name!s}" if kind == BROKER else topic_object(name)


def _is_own(config: "ConfigSetting", kind: int, name: "TopicRef") -> bool:
    """True if a resource sets a config itself."""
    from replay.image.configs import NAMESPACE, TOPIC

    if kind == NAMESPACE:
        return config.namespace == name
    return kind != TOPIC or config.source == "topic"


def _level(config: "ConfigSetting") -> str:
    return config.source if config.namespace is None else f"namespace/{config.namespace}"
