"""The `export kraft` command: writes a log, or its state at a point, in Kafka's form."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.typer_app import App
from api.cli.source.arguments import At, Json, LogOrServer, LogPlace, Server, ShowSecrets
from api.cli.source.opened_log import image_at, offset_of, place_of
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import bytes_size_text, count_text, print_json, print_line
from api.cli.terminal.progress_bar import progress
from metadata_log.format.manifest import Kind
from metadata_log.reader.log_reader import LogReader
from replay.about import about_image
from replay.image.metadata import MetadataImage

if TYPE_CHECKING:
    from metadata_log.kraft.segment_export import SegmentsExport

app = App()

Only = Annotated[
    str | None,
    Option("--only", metavar="OBJECT", help="Only commands for this object, such as topic:orders."),
]
Since = Annotated[
    str | None,
    Option(
        "--since",
        metavar="POINT",
        help="Only the commands for the changes from this point to --at.",
    ),
]

_FORMS = ("segments", "checkpoint", "commands")


@app.command()
def kraft(
    log: LogPlace,
    dest: Annotated[
        Path,
        Argument(
            metavar="DEST",
            help="New directory to write to; with --as commands a new file.",
            show_default=False,
        ),
    ],
    as_: Annotated[
        str,
        Option("--as", metavar="|".join(_FORMS), help="Form of the export.", show_default=False),
    ],
    at: At = "end",
    lossy: Annotated[
        bool,
        Option("--lossy", help="Leave out records that Kafka does not know, and list them."),
    ] = False,
    only: Only = None,
    since: Since = None,
    show_secrets: ShowSecrets = False,
    json: Json = False,
) -> None:
    """Write a log in Kafka's form: a node directory, or a script of commands.

    --as segments: those of a mirror are written as the source had them, byte for byte (if the
    mirror was imported with --noop keep); those of a log that is no mirror have a NoOp for each
    record that Kafka lacks. --as checkpoint: the state at --at, of any log. --as commands: a
    script for Kafka's tools, which creates the state at --at or, with --since, changes one state
    into another: `--since end --at P` undoes all changes after P.
    """

    if as_ not in _FORMS:
        raise bad_parameter(f"{as_!r} is none of {', '.join(_FORMS)}", param_hint="--as")
    if as_ != "commands" and (only is not None or since is not None):
        raise bad_parameter(
            "only --as commands takes these options; leave them out", param_hint="--only, --since"
        )
    with LogReader.open(log) as reader:
        if as_ == "segments":
            _segments(reader, dest, at, json=json)
        elif as_ == "commands":
            _commands(reader, dest, at, since, only, show_secrets=show_secrets, json=json)
        else:
            _checkpoint(reader, dest, at, lossy=lossy, json=json)


def _segments(reader: "LogReader", dest: Path, at: str, *, json: bool) -> None:
    offset = offset_of(reader, at)
    with progress("exporting", reader.start_offset, offset + 1) as advance:
        result = _exported(reader, dest, offset + 1, advance)
    if json:
        image = image_at(reader, offset)
        print_json(result, about_image(reader, image, offset))
        return
    print_line(f"wrote {count_text(len(result.files), 'file')} into {dest}")
    print_line(
        f"  offsets {result.start_offset} to {result.end_offset - 1}, "
        f"{bytes_size_text(result.bytes)} of batches"
    )


def _exported(
    reader: "LogReader", dest: Path, end_offset: int, advance: Callable[[int], None]
) -> "SegmentsExport":
    if reader.kind is Kind.MIRROR:
        from metadata_log.kraft.segment_export import export_segments

        return export_segments(reader, dest, end_offset, progress=advance)
    from controller.decisions.levels import record_version
    from replay.kafka_form.segments import export_own_segments

    return export_own_segments(reader, dest, end_offset, record_version, progress=advance)


def _checkpoint(reader: "LogReader", dest: Path, at: str, *, lossy: bool, json: bool) -> None:
    from controller.decisions.levels import record_version
    from replay.care.kraft_checkpoint import export_checkpoint

    offset = offset_of(reader, at)
    image = image_at(reader, offset)
    result = export_checkpoint(image, reader.cluster_id, dest, record_version, lossy=lossy)
    if json:
        print_json(result, about_image(reader, image, offset))
        return
    print_line(f"wrote {result.file} into {dest}")
    print_line(
        f"  the state before offset {result.end_offset}, {count_text(result.records, 'record')}"
    )
    for each in result.left_out:
        print_line(f"  left out: {each.object}: {each.reason}")


def _commands(
    reader: "LogReader",
    dest: Path,
    at: str,
    since: str | None,
    only: str | None,
    *,
    show_secrets: bool,
    json: bool,
) -> None:
    from api.documents.kafka_commands import CommandsExport
    from api.questions.kafka_script import commands_between, heading
    from metadata_log.kraft.new_directory import write_new_file

    offset = offset_of(reader, at)
    since_offset = None if since is None else offset_of(reader, since)
    before = MetadataImage.EMPTY if since_offset is None else image_at(reader, since_offset)
    after = image_at(reader, offset)
    found = commands_between(reader, before, after, offset, only, show_secrets=show_secrets)
    write_new_file(dest, found.script(heading(since_offset, offset)).encode())
    if json:
        print_json(CommandsExport.of(dest, found), about_image(reader, after, offset))
        return
    print_line(f"wrote {count_text(len(found.commands), 'command')} into {dest}")
    for each in found.not_said:
        print_line(f"  not by command: {each.object}: {each.reason}")


@app.command()
@reads_only
def commands(
    log: LogOrServer,
    at: At = "end",
    only: Only = None,
    since: Since = None,
    show_secrets: ShowSecrets = False,
    json: Json = False,
    server: Server = None,
) -> None:
    """Print the script that `export kraft --as commands` writes; with --server, too."""
    from api.documents.kafka_commands import ScriptLines
    from api.questions.kafka_script import SCRIPT, ShowScript

    point = None if since is None else log.point(since)
    result = log.ask(SCRIPT, ShowScript(only=only, since=point, show_secrets=show_secrets), at=at)
    lines = list(result.items)
    if json:
        print_json(place_of(result.about()), ScriptLines(lines=lines))
        return
    for each in lines:
        print_line(each.line)
