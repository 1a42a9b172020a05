"""The options of `serve` and `broker` that choose an authorizer."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from controller.authorization.authorizer import Authorizer

_ACL_NAME, ALLOW_ALL_NAME = "acl", "allow-all"

ServerConfigs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="A server-level config, as in a file."),
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
        typer.BadParameter: one is malformed, or there is no authorizer for the super users.
    """
    configs = _parsed(given or [])
    if not super_users:
        return configs
    from controller.authorization.acls import SUPER_USERS

    for user in super_users:
        if not re.fullmatch("[^:;]+:[^;]+", user):
            raise typer.BadParameter(
                f"{user!r} is not a principal such as User:ann", param_hint="--super-user"
            )
    if authorizer != _ACL_NAME:
        raise typer.BadParameter(
            f"everybody may do everything; say --authorizer {_ACL_NAME}",
            param_hint="--super-user",
        )
    listed = [user for user in (configs.get(SUPER_USERS), *super_users) if user]
    return {**configs, SUPER_USERS: ";".join(listed)}


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
