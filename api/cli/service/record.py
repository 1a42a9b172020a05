"""The `record` command: mirrors of several clusters, followed by one process."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.log_format import LogFormat, LogFormatOption, use_log_format
from api.cli.options.parameters import Argument, Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Json
from api.cli.terminal import event_loop
from api.cli.terminal.output import print_event, print_json_line, print_line

if TYPE_CHECKING:
    from api.recorder.recorder import RecorderReady


@command()
def record(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="TOML file that says which clusters to record, and how; see docs/recording.md.",
            show_default=False,
        ),
    ],
    check: Annotated[
        bool,
        Option(
            "--check",
            help="Read FILE and the files that it names, print what would be recorded, and end.",
        ),
    ] = False,
    log_format: LogFormatOption = LogFormat.TEXT,
    json: Json = False,
) -> None:
    """Follow the clusters in a file, each into a mirror of its own, with checks and metrics.

    If a cluster refuses the reader, the others go on, and that cluster is tried again every 5
    minutes. SIGHUP makes the command read FILE again; if FILE has a mistake, nothing changes.
    Alerts and gaps are printed as lines of JSON.
    """
    use_log_format(log_format)
    if check:
        _check(file, json=json)
        return
    from api.recorder.recorder import Recorder

    def ready(recording: "RecorderReady") -> None:
        if json:
            print_json_line(recording)
        else:
            metrics = f"http://{recording.metrics}/metrics"
            print_line(f"recording {', '.join(recording.mirrors)}; metrics: {metrics}")
        sys.stdout.flush()

    async def run() -> None:
        await Recorder(file, print_event).run(ready)

    event_loop.run_long(run())


def _check(file: Path, *, json: bool) -> None:
    from api.recorder.plan import planned

    for each in planned(file):
        if json:
            print_json_line(each)
        else:
            print_line(each.text)
