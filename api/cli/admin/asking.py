"""Verbs that ask for a change: the options they share, and how they are registered."""

from typing import TYPE_CHECKING

import typer

from api.cli.admin.options import LogOption, Principal, Reason, RequestId, ServerOption
from api.cli.admin.shared import check_text, verb_with
from api.cli.arguments import Json

if TYPE_CHECKING:
    from api.cli.admin.asker import Ask


def _ask(
    *,
    log: LogOption = None,
    server: ServerOption = None,
    as_: Principal = None,
    reason: Reason = None,
    request_id: RequestId = None,
    json: Json = False,
) -> "Ask":
    from api.cli.admin.asker import Ask

    if (log is None) == (server is None):
        raise typer.BadParameter("name one of --log LOG and --server URL")
    if server is not None and as_ is not None:
        raise typer.BadParameter("a service knows by itself who asks; leave --as out")
    for text in (as_, reason, request_id):
        check_text(text)
    return Ask(
        log=log,
        server=server,
        principal=as_ or _user(),
        reason=reason,
        request_id=request_id,
        json=json,
    )


def _user() -> str:
    import getpass

    try:
        return f"User:{getpass.getuser()}"
    except (KeyError, OSError):  # neither $USER nor an entry for this user id
        return "User:unknown"


changing = verb_with(_ask)
"""Registers a verb that changes the cluster; its first parameter is an `Ask`."""
