"""The `import gap` command: fills a gap in a recording from a node's directory."""

from pathlib import Path
from typing import Annotated

from api.cli.log.imports import app
from api.cli.log.noops import Noop, is_collapse
from api.cli.options.parameters import Argument
from api.cli.source.arguments import Json
from api.cli.source.gaps import gap_text
from api.cli.source.opened_log import log_about
from api.cli.source.source import kafka_path, log_path
from api.cli.terminal.output import count_text, print_json, print_line
from api.cli.terminal.progress_bar import progress


@app.command()
def gap(
    source: Annotated[
        Path,
        Argument(
            metavar="SOURCE",
            help="A __cluster_metadata-0 directory that still has the records, or its parent.",
            parser=kafka_path,
        ),
    ],
    log: Annotated[
        Path, Argument(metavar="LOG", help="The newest part of the recording.", parser=log_path)
    ],
    new: Annotated[
        Path, Argument(metavar="NEW", help="Directory of the new mirror.", parser=log_path)
    ],
    noop: Noop = "collapse",
    json: Json = False,
) -> None:
    """Join the last two parts of a recording with the records between them, as a new mirror.

    The gap before LOG is filled from the directory of a node that still has its records. SOURCE
    must be the log that LOG.part-N continues, and its records must lead to the state with which
    LOG begins. Nothing else is changed. If the new mirror itself begins after a gap, fill that in
    the same way.
    """
    from replay.care.filled_gap import fill_gap

    collapse_noops = is_collapse(noop)
    with progress("joining", 0, _end_offset(log)) as advance:
        found = fill_gap(source, log, new, collapse_noops=collapse_noops, progress=advance)
    if json:
        print_json(found, log_about(new))
        return
    print_line(f"{new}: offsets {found.first_offset} to {found.end_offset - 1}, without the gap")
    print_line(f"  filled: {gap_text(found.gap)}")
    if found.earlier_parts:
        print_line(f"  {count_text(found.earlier_parts, 'gap')} before it: fill in the same way")


def _end_offset(log: Path) -> int:
    from metadata_log.reader.log_reader import LogReader

    with LogReader.open(log) as reader:
        return reader.end_offset
