"""The options of `serve`, `broker` and `view` that choose an authorizer."""

import re
from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.options.log_format import LogFormat, LogFormatOption
from api.cli.options.option_groups import SECURITY
from api.cli.options.parameters import Option, bad_parameter
from api.cli.options.server_configs import SERVE, check_server_config

if TYPE_CHECKING:
    import typer

    from controller.authorization.authorizer import Authorizer
    from controller.decisions.context.context import Settings

_ACL_NAME, ALLOW_ALL_NAME = "acl", "allow-all"

FILE_METAVAR = "FILE|NAME=VALUE"
"""Metavar of --config, which takes an options file or one server-level config."""

_CONFIG = re.compile(r"[\w.-]*=.*", re.DOTALL)


class AccessOptions(NamedTuple):
    """Options of a process that listens: authorization, and the format of log lines."""

    log_format: LogFormatOption = LogFormat.TEXT
    authorizer: Annotated[
        str,
        Option(
            "--authorizer",
            metavar=f"{_ACL_NAME}|{ALLOW_ALL_NAME}",
            help="Authorizer of requests: the log's ACLs, or none.",
            rich_help_panel=SECURITY,
        ),
    ] = ALLOW_ALL_NAME
    super_user: Annotated[
        list[str] | None,
        Option(
            "--super-user",
            metavar="PRINCIPAL",
            help="A principal that may do everything, such as User:ann; repeatable.",
            rich_help_panel=SECURITY,
        ),
    ] = None

    def configs(self, command: str, given: list[str] | None = None) -> dict[str, str]:
        """Return the server-level configs of a command; raises the errors of `server_configs`."""
        return server_configs(command, given, self.authorizer, self.super_user)

    def settings(self) -> "Settings":
        """Return the settings of a process that only answers; raises the errors of `configs`."""
        from controller.decisions.context.context import Settings

        configs = self.configs(SERVE)
        return Settings(static_configs=configs, authorizer=authorizer_of(self.authorizer, configs))


def server_configs(
    command: str, given: list[str] | None, authorizer: str, super_users: list[str] | None
) -> dict[str, str]:
    """Return the server-level configs, with the super users of --super-user added.

    Raises:
        typer.BadParameter: a config is malformed, refused by `check_server_config`, or needs an
            authorizer, as super users do.
    """
    from controller.authorization.acls import ALLOW_EVERYONE, SUPER_USERS

    configs = _parsed(given or [])
    for name, text in configs.items():
        check_server_config(command, name, text)
    if ALLOW_EVERYONE in configs and authorizer != _ACL_NAME:
        raise _without_authorizer(f"--config {ALLOW_EVERYONE}")
    _check_super_users(super_users or [], authorizer, "--super-user")
    if SUPER_USERS in configs:
        in_configs = [user.strip() for user in configs[SUPER_USERS].split(";")]
        _check_super_users([u for u in in_configs if u], authorizer, f"--config {SUPER_USERS}")
    listed = [user for user in (configs.get(SUPER_USERS), *(super_users or ())) if user]
    return {**configs, SUPER_USERS: ";".join(listed)} if super_users else configs


def _check_super_users(users: list[str], authorizer: str, option: str) -> None:
    for user in users:
        if not re.fullmatch("[^:;]+:[^;]+", user):
            raise bad_parameter(f"{user!r} is not a principal such as User:ann", param_hint=option)
    if users and authorizer != _ACL_NAME:
        raise _without_authorizer(option)


def _without_authorizer(option: str) -> "typer.BadParameter":
    return bad_parameter(
        f"without an authorizer everybody may do everything; add --authorizer {_ACL_NAME}",
        param_hint=option,
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
    raise bad_parameter(
        f"{name!r} is none of {_ACL_NAME}, {ALLOW_ALL_NAME}", param_hint="--authorizer"
    )


def is_options_file(text: str) -> bool:
    """True if a value of `--config` is the path of an options file."""
    return _CONFIG.fullmatch(text) is None


def _parsed(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given if not is_options_file(text)]
    for name, _, _ in pairs:
        if not name:
            raise bad_parameter(f"{name!r} is not NAME=VALUE", param_hint="--config")
    return {name: value for name, _, value in pairs}
