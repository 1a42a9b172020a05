"""The option of `serve` and `broker` that chooses the format of log lines."""

import enum
from typing import Annotated

from api.cli.options.option_groups import PROCESS
from api.cli.options.parameters import Option


class LogFormat(enum.Enum):
    """Format of log lines on standard error: text or JSON."""

    TEXT = "text"
    JSON = "json"


LogFormatOption = Annotated[
    LogFormat,
    Option(
        "--log-format",
        help="Format of standard error: text, or one JSON object per line.",
        rich_help_panel=PROCESS,
    ),
]


def use_log_format(wanted: LogFormat) -> None:
    """Set this process's log format, and limit how often each place in the code may log."""
    from api.json_logging import log_as_json
    from api.transport.log_limit import limit_repeats

    limit_repeats()
    if wanted is LogFormat.JSON:
        log_as_json()
