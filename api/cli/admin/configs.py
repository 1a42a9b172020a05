"""Configs of topics, namespaces, brokers and others: change, describe, explain."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.config_resources import (
    ConfigResourceArgument,
    config_resource,
)
from api.cli.admin.look import Look, reading
from api.cli.admin.options import NamespaceOption, ValidateOnly
from api.cli.admin.texts import config_pairs
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.options.secret_input import read_secret
from api.cli.parser.typer_app import App
from api.cli.source.arguments import ShowSecrets
from api.cli.terminal.output import print_line, print_table

if TYPE_CHECKING:
    from api.documents.configs import ConfigsDescribed, ConfigsExplained
    from controller.descriptions.configs import ConfigExplained, ConfigSetting

app = App()


class _Change(NamedTuple):
    """A `ConfigChange` of `controller.decisions.configs.changes`, whose import is slow."""

    operation: str
    name: str
    value: str | None


_Pairs = Annotated[
    list[str], Argument(metavar="NAME=VALUE...", help="Configs to change.", show_default=False)
]


@changing(app, "set")
def set_(
    ask: AdminClient,
    resource: ConfigResourceArgument,
    configs: Annotated[
        list[str] | None,
        Argument(metavar="NAME=VALUE...", help="Configs to change.", show_default=False),
    ] = None,
    from_file: Annotated[
        list[str] | None,
        Option(
            "--from-file",
            metavar="NAME=FILE",
            help="Read a config's value, such as a password, from a file; - is standard input.",
        ),
    ] = None,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Set configs of a resource."""
    if not configs and not from_file:
        raise bad_parameter("name at least one config", param_hint="NAME=VALUE")
    changes = [*_changes("set", configs or []), *_read_changes(from_file or [])]
    return _alter(ask, resource, namespace, changes, validate_only)


@changing(app)
def append(
    ask: AdminClient,
    resource: ConfigResourceArgument,
    configs: _Pairs,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Append items to configs that are lists."""
    return _alter(ask, resource, namespace, _changes("append", configs), validate_only)


@changing(app)
def subtract(
    ask: AdminClient,
    resource: ConfigResourceArgument,
    configs: _Pairs,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Take items out of configs that are lists."""
    return _alter(ask, resource, namespace, _changes("subtract", configs), validate_only)


@changing(app)
def delete(
    ask: AdminClient,
    resource: ConfigResourceArgument,
    names: Annotated[
        list[str], Argument(metavar="NAME...", help="Configs to change.", show_default=False)
    ],
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Remove configs from a resource, which then has the next level's values."""
    changes = [_Change("delete", name, None) for name in names]
    return _alter(ask, resource, namespace, changes, validate_only)


@changing(app)
def replace(
    ask: AdminClient,
    resource: ConfigResourceArgument,
    configs: _Pairs,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Set exactly these configs, and delete all others of a resource."""
    return _alter(ask, resource, namespace, _changes("set", configs), validate_only, replaces=True)


@reading(app)
def describe(
    look: Look,
    resource: ConfigResourceArgument,
    namespace: NamespaceOption = "",
    all_: Annotated[
        bool,
        Option("--all", "--effective", help="Also print inherited configs."),
    ] = False,
    show_secrets: ShowSecrets = False,
) -> None:
    """Print the configs of a resource, their version, and which level sets each."""
    from api.documents.configs import configs_described
    from controller.descriptions.configs import DescribeConfigs

    kind, name = config_resource(resource, namespace)
    question = DescribeConfigs(
        resource_type=kind, resource_name=name, show_secrets=show_secrets, effective=all_
    )
    with look.explaining(question):
        answer, about = look.answer("configs describe", question)
    shown = configs_described(question, answer, resource)
    look.print(shown, about, _print_configs)


@reading(app)
def explain(
    look: Look,
    resource: ConfigResourceArgument,
    config: Annotated[
        str | None, Argument(metavar="NAME", help="Name of a config; default: all configs.")
    ] = None,
    namespace: NamespaceOption = "",
    show_secrets: ShowSecrets = False,
) -> None:
    """Print the levels that set a config, the effective one first, and what the config means."""
    from api.documents.configs import ConfigsExplained
    from controller.descriptions.configs import ExplainConfigs

    kind, name = config_resource(resource, namespace)
    question = ExplainConfigs(
        resource_type=kind, resource_name=name, config=config, show_secrets=show_secrets
    )
    with look.explaining(question):
        found, about = look.answer("configs explain", question)
    look.print(ConfigsExplained(resource=resource, configs=found), about, _print_explained)


def _print_configs(found: "ConfigsDescribed") -> None:
    version = "absent" if found.version is None else found.version
    print_line(f"{found.resource}  version {version}")
    rows = [(config.name, config.value, _level(config)) for config in found.configs]
    print_table(("config", "value", "set by"), rows)


def _print_explained(found: "ConfigsExplained") -> None:
    for line in [line for config in found.configs for line in _lines_of(config)]:
        print_line(line)


def _alter(
    ask: AdminClient,
    resource: str,
    namespace: str,
    changes: list[_Change],
    validate_only: bool,
    *,
    replaces: bool = False,
) -> int:
    from api.documents.changes import ConfigsAltered
    from controller.decisions.configs.changes import (
        AlterConfigs,
        ConfigChange,
        Operation,
        ReplaceConfigs,
        ResourceChange,
    )

    kind, name = config_resource(resource, namespace)
    change = ResourceChange(
        resource_type=kind,
        resource_name=name,
        changes=tuple([ConfigChange(c.name, c.value, Operation(c.operation)) for c in changes]),
    )
    verb, request = ("replace", ReplaceConfigs) if replaces else ("alter", AlterConfigs)
    answer = ask.run(f"configs {verb}", request(resources=(change,), validate_only=validate_only))
    names = [change.name for change in changes]
    items = [
        Item(
            answer=ConfigsAltered(
                resource=resource,
                configs=tuple(names),
                deleted=result.deleted,
                topics_changed=result.topics_changed,
            ),
            lines=(
                *_done_lines(names, result.deleted, resource, validate_only=validate_only),
                *_impact_lines(result.topics_changed, validate_only=validate_only),
            ),
            refusal=result.refusal,
        )
        for result in answer.response
    ]
    return ask.report(answer, items, validate_only=validate_only)


def _done_lines(
    changed: list[str], deleted: tuple[str, ...], resource: str, *, validate_only: bool
) -> list[str]:
    """Return lines that list the configs set or changed, and those that a replacement deletes."""
    could = "can be " if validate_only else ""
    result = {"changed": changed, "deleted": deleted}
    return [
        f"{could}{done}: {', '.join(names)} of {resource}"
        for done, names in result.items()
        if names
    ]


def _impact_lines(count: int | None, *, validate_only: bool) -> list[str]:
    """Return a line with the number of topics that inherit the change; none if `count` is None."""
    if count is None:
        return []
    topics = f"{count} topic{'s' if count != 1 else ''}"
    return [f"{topics} {'would change' if validate_only else 'changed'} with it"]


def _changes(operation: str, texts: list[str]) -> list[_Change]:
    return [_Change(operation, name, value) for name, value in config_pairs(texts)]


def _read_changes(texts: list[str]) -> list[_Change]:
    """Return config changes with values read from files, because every user can see arguments."""
    pairs = config_pairs(texts)
    if [file for _, file in pairs].count("-") > 1:
        raise bad_parameter("only one value can be read from -", param_hint="--from-file")
    return [
        _Change("set", name, read_secret(file, option=f"--from-file {name}", prompt=name))
        for name, file in pairs
    ]


def _level(config: "ConfigSetting") -> str:
    return config.source if config.namespace is None else f"namespace/{config.namespace}"


_OF_PROCESS = ", if not by the broker's own options, which the broker tells (DescribeConfigs)"


def _lines_of(config: "ConfigExplained") -> list[str]:
    """Return an explained config as lines: its value, its definition, and its levels."""
    about = [config.type, config.valid_values, f"since {config.since}" if config.since else ""]
    return [
        f"{config.name} = {config.value}  set by {config.level}{_OF_PROCESS * config.of_process}",
        f"  {', '.join(filter(None, about))}",
        *([f"  {config.doc}"] if config.doc else []),
        *(f"  {level.level}: {level.name} = {level.value}" for level in config.levels),
    ]
