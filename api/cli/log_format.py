"""The option of `serve` and `broker` for the form of their logs."""

import enum
from typing import Annotated

import typer

from api.cli.option_groups import PROCESS


class LogFormat(enum.Enum):
    """What lines of the log on standard error are."""

    TEXT = "text"
    JSON = "json"


LogFormatOption = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="Of standard error: text, or a JSON object a line.",
        rich_help_panel=PROCESS,
    ),
]


def use_log_format(wanted: LogFormat) -> None:
    """Let this process log as wanted, and limit how often one place in the code does."""
    from api.json_logging import log_as_json
    from api.log_limit import limit_repeats

    limit_repeats()
    if wanted is LogFormat.JSON:
        log_as_json()
