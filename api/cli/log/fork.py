"""The `fork` command: creates a log that starts with the state of another log at a point."""

from pathlib import Path
from typing import Annotated

from api.cli.options.parameters import Argument
from api.cli.parser.quick import command
from api.cli.source.arguments import At, Json, LogPlace
from api.cli.source.opened_log import log_about, offset_of
from api.cli.terminal.output import print_json, print_line
from api.cli.terminal.progress_bar import progress


@command()
def fork(
    source: LogPlace,
    log: Annotated[
        Path, Argument(metavar="NEW", help="Directory of the new log.", show_default=False)
    ],
    at: At = "end",
    json: Json = False,
) -> None:
    """Make a writable log that starts with the state of another log, such as a mirror, at a point.

    The new log keeps the cluster id and the offsets; its history begins at the point. The source
    is only read.
    """
    from metadata_log.reader.log_reader import LogReader
    from replay.care.fork import fork_log

    with LogReader.open(source) as reader:
        offset = offset_of(reader, at)
        with progress("replaying", reader.history_start, offset + 1) as advance:
            result = fork_log(reader, log, offset, progress=advance)
    if json:
        print_json(result, log_about(log))
        return
    print_line(f"{log}: an own log from offset {result.history_start} on")
    print_line(f"  digest {result.digest}")
    print_line(f"  as {source} at {result.history_start - 1}; next epoch {result.writer_epoch}")
