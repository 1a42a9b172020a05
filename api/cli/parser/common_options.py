"""Options that commands take beside the declared ones: --time-zone, --database, --keep-going and
--consistent.

Each stores its value in a context variable, which is reset before a command line is parsed.
"""

import inspect
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

    def remember(zone: str) -> str:
        zone_of(zone)
        ZONE.set(zone)
        return zone

    return _option(
        "time_zone",
        str,
        "UTC",
        typer.Option(
            "--time-zone",
            metavar="ZONE",
            help="Time zone of times that name none, such as UTC, +02:00 or Europe/Berlin.",
            callback=remember,
            expose_value=False,
        ),
    )


def database_option() -> Any:
    """Return --database, for a command that starts from a snapshot."""

    def remember(url: str | None) -> str | None:
        DATABASE.set(url)
        return url

    return _option(
        "database",
        str | None,
        None,
        typer.Option(
            "--database",
            metavar="URL",
            help="Database of the snapshots that replay may start from; default: "
            "sqlite:///LOG/snapshots.db",
            callback=remember,
            expose_value=False,
        ),
    )


def keep_going_option() -> Any:
    """Return --keep-going, for a command that can read past contradictions."""

    def remember(keep_going: bool) -> bool:
        KEEP_GOING.set(keep_going)
        return keep_going

    return _option(
        "keep_going",
        bool,
        False,
        typer.Option(
            "--keep-going",
            help="Leave out records that contradict the state before them, and list them.",
            callback=remember,
            expose_value=False,
        ),
    )


def consistent_option() -> Any:
    """Return --consistent, for a command that asks a service."""

    def remember(consistent: bool) -> bool:
        CONSISTENT.set(consistent)
        return consistent

    return _option(
        "consistent",
        bool,
        False,
        typer.Option(
            "--consistent",
            help="With --server: answer from a state with all records that any node has "
            "acknowledged.",
            callback=remember,
            expose_value=False,
        ),
    )


def _option(name: str, type_: Any, default: Any, declared: Any) -> Any:
    """Return an option in the form that typer makes from a command's parameter."""
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
