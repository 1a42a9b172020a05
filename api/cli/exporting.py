"""export kraft: a log, or a state, in Kafka's form."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.app import app, need_command
from api.cli.arguments import At, Json, LogPlace
from api.cli.output import bytes_size_text, count_text, print_json, print_line, progress
from api.cli.typer_app import App

if TYPE_CHECKING:
    from metadata_log.log_reader import LogReader
    from replay.image.metadata import MetadataImage

exporting = App(
    name="export",
    help="Write a log in the form of other software.",
    invoke_without_command=True,
    callback=need_command,
)
app.add_typer(exporting)

_FORMS = ("segments", "checkpoint")


@exporting.command()
def kraft(
    log: LogPlace,
    dest: Annotated[
        Path, typer.Argument(metavar="DEST", help="A new node directory.", show_default=False)
    ],
    as_: Annotated[
        str,
        typer.Option("--as", metavar="|".join(_FORMS), help="What to write.", show_default=False),
    ],
    at: At = "end",
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Leave out what Kafka does not know, and list it.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a log back in Kafka's form, as a node directory.

    Segments of a mirror are those of its source, byte for byte (import it with --noop keep). A
    checkpoint holds the state of any log at any point.
    """
    from metadata_log.log_reader import LogReader

    if as_ not in _FORMS:
        raise typer.BadParameter(f"{as_!r} is none of {', '.join(_FORMS)}", param_hint="--as")
    with LogReader.open(log) as reader:
        if as_ == "segments":
            _segments(reader, dest, at, json=json)
        else:
            _checkpoint(reader, dest, at, lossy=lossy, json=json)


def _segments(reader: "LogReader", dest: Path, at: str, *, json: bool) -> None:
    from api.cli.reading import offset_of
    from metadata_log.kraft.segment_export import export_segments
    from replay.about import about_image

    offset = offset_of(reader, at)
    with progress("exporting", reader.start_offset, offset + 1) as advance:
        result = export_segments(reader, dest, offset + 1, progress=advance)
    if json:
        image = _timeline_image(reader, offset)
        print_json(result, about_image(reader, image, offset))
        return
    print_line(f"wrote {count_text(len(result.files), 'file')} into {dest}")
    print_line(
        f"  offsets {result.start_offset} to {result.end_offset - 1}, "
        f"{bytes_size_text(result.bytes)} of batches"
    )


def _checkpoint(reader: "LogReader", dest: Path, at: str, *, lossy: bool, json: bool) -> None:
    from api.cli.reading import offset_of
    from controller.decisions.levels import record_version
    from replay.about import about_image
    from replay.care.kraft_checkpoint import export_checkpoint

    offset = offset_of(reader, at)
    image = _timeline_image(reader, offset)
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


def _timeline_image(reader: "LogReader", offset: int) -> "MetadataImage":
    from replay.timeline import Timeline

    with progress("replaying", reader.history_start, offset + 1) as advance:
        return Timeline.of(reader).image(offset, progress=advance)
