"""The options of `serve` and `broker` for their listeners."""

from typing import Annotated

import typer

from api.cli.option_groups import LISTENERS

AllowRemote = Annotated[
    bool,
    typer.Option(
        "--allow-remote",
        help="Listen beyond this machine, to anybody.",
        rich_help_panel=LISTENERS,
    ),
]
StrictModes = Annotated[
    bool,
    typer.Option(
        "--strict-modes",
        help="Read-only partitions have no leader to clients without modes.",
        rich_help_panel=LISTENERS,
    ),
]
