"""The options of `serve`, `broker` and `view` for their listeners."""

from pathlib import Path
from typing import Annotated

from api.cli.options.option_groups import LISTENERS, SECURITY
from api.cli.options.parameters import Option

# That of `HttpOptions`, which is imported only when it is used.
HTTP_CONNECTIONS = 1_200

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
HttpTokens = Annotated[
    Path | None,
    Option(
        "--http-tokens",
        metavar="FILE",
        help="File with the bearer tokens for HTTP, as lines NAME:SHA256.",
        rich_help_panel=SECURITY,
    ),
]
HttpConnections = Annotated[
    int,
    Option(
        "--http-connections",
        metavar="N",
        help="Maximum number of HTTP connections, including event streams.",
        min=1,
        rich_help_panel=LISTENERS,
    ),
]
