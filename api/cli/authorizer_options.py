"""The options of `serve` and `broker` that choose an authorizer."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from controller.authorization.authorizer import Authorizer

_ACL_NAME, ALLOW_ALL_NAME = "acl", "allow-all"

ServerConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="NAME=VALUE",
        help="A server-level config, as in Kafka's server.properties; repeatable.",
    ),
]

AuthorizerName = Annotated[
    str,
    typer.Option(
        "--authorizer",
        metavar=f"{_ACL_NAME}|{ALLOW_ALL_NAME}",
        help="What decides who may do what: the log's ACLs, or nothing.",
    ),
]

SuperUsers = Annotated[
    list[str] | None,
    typer.Option(
        "--super-user",
        metavar="PRINCIPAL",
        help="May do everything, whatever the ACLs say, as User:ann; repeatable.",
    ),
]


def server_configs(
    given: list[str] | None, authorizer: str, super_users: list[str] | None
) -> dict[str, str]:
    """Return the server-level configs, with further super users.

    Raises:
        typer.BadParameter: one is malformed, unknown or a secret, or there is no authorizer for the
            super users.
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
    from controller.decisions.tokens import SECRET_KEY

    if SECRET_KEY in configs:
        raise typer.BadParameter(
            "arguments can be seen by every user of the machine; use --secret-key-file",
            param_hint=f"--config {SECRET_KEY}",
        )
    for name, text in configs.items():
        _check_value(name, text)
    value = configs.get(ALLOW_EVERYONE)
    if value is None:
        return
    if value.strip().lower() not in ("true", "false"):
        raise typer.BadParameter(
            f"{value!r} is neither true nor false", param_hint=f"--config {ALLOW_EVERYONE}"
        )
    if authorizer != _ACL_NAME:
        raise _without_authorizer(f"--config {ALLOW_EVERYONE}")


def _check_value(name: str, value: str) -> None:
    from controller.decisions.broker_configs import broker_config
    from controller.decisions.config_resources import unknown_config
    from replay.image.configs import BROKER

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
    """Return the authorizer of a name.

    Raises:
        typer.BadParameter: there is none of this name.
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


def _parsed(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise typer.BadParameter(f"{name!r} is not NAME=VALUE", param_hint="--config")
    return {name: value for name, _, value in pairs}
