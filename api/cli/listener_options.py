"""The options of `serve` and `broker` for their listeners."""

from typing import Annotated

import typer

from api.cli.option_groups import LISTENERS

AllowRemote = Annotated[
    bool,
    typer.Option(
        "--allow-remote",
        help="Accept unauthenticated connections from other machines.",
        rich_help_panel=LISTENERS,
    ),
]
StrictModes = Annotated[
    bool,
    typer.Option(
        "--strict-modes",
        help="Show READ_ONLY partitions as leaderless to clients that do not know modes.",
        rich_help_panel=LISTENERS,
    ),
]
