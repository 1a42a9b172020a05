"""Options that commands take beside the declared ones: --time-zone, --database, --keep-going and
--consistent.

Each stores its value in a context variable, which is reset before a command line is parsed.
"""

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer
from typer.main import get_command

from api.cli.options.query_options import CONSISTENT, KEEP_GOING, ZONE, zone_of
from api.cli.options.snapshot_database import DATABASE

KEEP_GOING_VERBS = frozenset(
    {
        "bisect",
        "blame",
        "check",
        "diff",
        "du",
        "history",
        "image",
        "outages",
        "timeline",
        "why",
    }
)
"""The verbs that take --keep-going: those that only print, and store, export or digest nothing."""


def time_zone_option() -> Any:
    """Return --time-zone, for a command that takes a point in time."""
    return _option(
        "time_zone",
        str,
        ZONE,
        "UTC",
        metavar="ZONE",
        about="Time zone of times that name none, such as UTC, +02:00 or Europe/Berlin.",
        check=zone_of,
    )


def database_option() -> Any:
    """Return --database, for a command that starts from a snapshot."""
    return _option(
        "database",
        str | None,
        DATABASE,
        None,
        metavar="URL",
        about="Database of the snapshots that replay may start from; default: "
        "sqlite:///LOG/snapshots.db",
    )


def keep_going_option() -> Any:
    """Return --keep-going, for a command that can read past contradictions."""
    return _option(
        "keep_going",
        bool,
        KEEP_GOING,
        False,
        about="Leave out records that contradict the state before them, and list them.",
    )


def consistent_option() -> Any:
    """Return --consistent, for a command that asks a service."""
    return _option(
        "consistent",
        bool,
        CONSISTENT,
        False,
        about="With --server: answer from a state with all records that any node has acknowledged.",
    )


def _option(
    name: str,
    type_: Any,
    variable: ContextVar[Any],
    default: Any,
    *,
    about: str,
    metavar: str | None = None,
    check: Callable[[Any], object] = lambda _: None,
) -> Any:
    """Return an option that stores its value, in the form that typer makes from a parameter.

    Args:
        check: Called with the value before it is stored; raises if it is invalid.
    """

    def remember(value: Any) -> Any:
        check(value)
        variable.set(value)
        return value

    declared = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=metavar,
        help=about,
        callback=remember,
        expose_value=False,
    )
    parameter = inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[type_, declared],
    )

    def command(**_: Any) -> None: ...

    made: Any = command
    # typer reads both.
    made.__annotations__ = {name: parameter.annotation}
    made.__signature__ = inspect.Signature([parameter])
    app = typer.Typer(add_completion=False)
    app.command()(made)
    (option, *_rest) = get_command(app).params
    return option
