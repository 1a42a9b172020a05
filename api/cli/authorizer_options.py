"""The options of `serve` and `broker` that choose an authorizer."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.option_groups import PROCESS, SECURITY

if TYPE_CHECKING:
    from controller.authorization.authorizer import Authorizer

_ACL_NAME, ALLOW_ALL_NAME = "acl", "allow-all"

FILE_METAVAR = "FILE|NAME=VALUE"
"""Of the option that takes a file of options, or one server-level config."""

_CONFIG = re.compile(r"[\w.-]*=.*", re.DOTALL)

ServerConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar=FILE_METAVAR,
        help="A TOML file of these options; or a server-level config, as in Kafka's "
        "server.properties; repeatable.",
        rich_help_panel=PROCESS,
    ),
]

AuthorizerName = Annotated[
    str,
    typer.Option(
        "--authorizer",
        metavar=f"{_ACL_NAME}|{ALLOW_ALL_NAME}",
        help="Authorizer of requests: the log's ACLs, or none.",
        rich_help_panel=SECURITY,
    ),
]

SuperUsers = Annotated[
    list[str] | None,
    typer.Option(
        "--super-user",
        metavar="PRINCIPAL",
        help="A principal that may do everything, such as User:ann; repeatable.",
        rich_help_panel=SECURITY,
    ),
]


def server_configs(
    given: list[str] | None, authorizer: str, super_users: list[str] | None
) -> dict[str, str]:
    """Return the server-level configs, with the super users of --super-user added.

    Raises:
        typer.BadParameter: a config is malformed, unknown or a secret, or super users are given
            without an authorizer.
    """
    from controller.authorization.acls import SUPER_USERS

    configs = _parsed(given or [])
    _check(configs, authorizer)
    _check_super_users(super_users or [], authorizer, "--super-user")
    if SUPER_USERS in configs:
        in_configs = [user.strip() for user in configs[SUPER_USERS].split(";")]
        _check_super_users([u for u in in_configs if u], authorizer, f"--config {SUPER_USERS}")
    listed = [user for user in (configs.get(SUPER_USERS), *(super_users or ())) if user]
    return {**configs, SUPER_USERS: ";".join(listed)} if super_users else configs


def _check(configs: dict[str, str], authorizer: str) -> None:
    from controller.authorization.acls import ALLOW_EVERYONE

    for name, text in configs.items():
        check_server_config(name, text)
    value = configs.get(ALLOW_EVERYONE)
    if value is None:
        return
    if value.strip().lower() not in ("true", "false"):
        raise typer.BadParameter(
            f"{value!r} is neither true nor false", param_hint=f"--config {ALLOW_EVERYONE}"
        )
    if authorizer != _ACL_NAME:
        raise _without_authorizer(f"--config {ALLOW_EVERYONE}")


def check_server_config(name: str, value: str) -> None:
    """Check the name and value of a server-level config.

    Raises:
        typer.BadParameter: the config is unknown, has an invalid value, or is a secret.
    """
    from controller.decisions.broker_configs import broker_config
    from controller.decisions.config_resources import unknown_config
    from controller.decisions.tokens import SECRET_KEY
    from replay.image.configs import BROKER

    if name == SECRET_KEY:
        raise typer.BadParameter(
            "a secret is not given here, where others may see it; use --secret-key-file",
            param_hint=f"--config {SECRET_KEY}",
        )
    definition = broker_config(name)
    try:
        if definition is None:
            raise ValueError(str(unknown_config(BROKER, name)))
        definition.check(value)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=f"--config {name}") from None


def _check_super_users(users: list[str], authorizer: str, option: str) -> None:
    for user in users:
        if not re.fullmatch("[^:;]+:[^;]+", user):
            raise typer.BadParameter(
                f"{user!r} is not a principal such as User:ann", param_hint=option
            )
    if users and authorizer != _ACL_NAME:
        raise _without_authorizer(option)


def _without_authorizer(option: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"everybody may do everything; say --authorizer {_ACL_NAME}", param_hint=option
    )


def authorizer_of(name: str, configs: dict[str, str]) -> "Authorizer":
    """Return the authorizer with this name.

    Raises:
        typer.BadParameter: there is no such authorizer.
    """
    from controller.authorization.acls import AclAuthorizer
    from controller.authorization.authorizer import ALLOW_ALL

    if name == _ACL_NAME:
        return AclAuthorizer.of(configs)
    if name == ALLOW_ALL_NAME:
        return ALLOW_ALL
    raise typer.BadParameter(
        f"{name!r} is none of {_ACL_NAME}, {ALLOW_ALL_NAME}", param_hint="--authorizer"
    )


def is_options_file(text: str) -> bool:
    """True if a value of `--config` is the path of an options file."""
    return _CONFIG.fullmatch(text) is None


def _parsed(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given if not is_options_file(text)]
    for name, _, _ in pairs:
        if not name:
            raise typer.BadParameter(f"{name!r} is not NAME=VALUE", param_hint="--config")
    return {name: value for name, _, value in pairs}
