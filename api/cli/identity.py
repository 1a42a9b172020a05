"""Who runs the command, and in which trace."""

import os
import re

import typer

# Source: W3C Trace Context, version 00 and whatever follows it.
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


def process_user() -> str:
    """Return the principal of the user that runs this process."""
    import getpass

    try:
        return f"User:{getpass.getuser()}"
    except (KeyError, OSError):  # neither $USER nor an entry for this user id
        return "User:unknown"


def checked_trace_parent(given: str | None) -> str | None:
    """Return the trace parent given, or that of the environment if it is one.

    Raises:
        typer.BadParameter: the one given is none.
    """
    if given is not None:
        if not _TRACE_PARENT.fullmatch(given):
            raise typer.BadParameter(f"{given!r} is no W3C trace parent")
        return given
    found = os.environ.get("TRACEPARENT", "")
    return found if _TRACE_PARENT.fullmatch(found) else None
