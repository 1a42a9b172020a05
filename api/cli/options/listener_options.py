"""The options of `serve` and `broker` for their listeners."""

from typing import Annotated

from api.cli.options.option_groups import LISTENERS
from api.cli.options.parameters import Option

AllowRemote = Annotated[
    bool,
    Option(
        "--allow-remote",
        help="Accept unauthenticated connections from other machines.",
        rich_help_panel=LISTENERS,
    ),
]
StrictModes = Annotated[
    bool,
    Option(
        "--strict-modes",
        help="Show READ_ONLY partitions as leaderless to clients that do not know modes.",
        rich_help_panel=LISTENERS,
    ),
]
