"""The user that runs the command, and the command's trace parent."""

import os
import re

from api.cli.options.parameters import bad_parameter

# Source: W3C Trace Context, version 00 and later.
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


def process_user() -> str:
    """Return the principal of this process's user."""
    import getpass

    try:
        return f"User:{getpass.getuser()}"
    except (KeyError, OSError):  # neither $USER nor an entry for this user id
        return "User:unknown"


def checked_trace_parent(given: str | None) -> str | None:
    """Return the given trace parent, or if none is given, the environment's.

    None if the environment has no trace parent, or an invalid one.

    Raises:
        typer.BadParameter: the given trace parent is invalid.
    """
    if given is not None:
        if not _TRACE_PARENT.fullmatch(given):
            raise bad_parameter(f"{given!r} is not a W3C trace parent")
        return given
    found = os.environ.get("TRACEPARENT", "")
    return found if _TRACE_PARENT.fullmatch(found) else None
