"""Shows a log: dump, image, digest."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.arguments import At, From, Json, LogPlace, ShowAsked, ShowSecrets, To
from api.cli.main import app
from api.cli.output import (
    print_json,
    print_json_line,
    print_line,
)

if TYPE_CHECKING:
    from metadata_log.log_reader import LogReader
    from records.envelope import Envelope


@app.command()
def dump(
    log: LogPlace,
    from_: From = "start",
    to: To = "end",
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only this record type; repeatable.")
    ] = None,
    object_: Annotated[
        str | None, typer.Option("--object", metavar="OBJECT", help="Only what changed it.")
    ] = None,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    asked: ShowAsked = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --json: a last line about the log.")
    ] = False,
) -> None:
    """Print records, one a line."""
    from api.cli.reading import bounds, first_offset_of, offset_of, open_reader
    from api.cli.rows import check_types, row_json, row_text

    check_types(types or [])
    with open_reader(log) as reader:
        first, last = first_offset_of(reader, from_), offset_of(reader, to)
        for row in _rows(reader, first, last, object_):
            if types and type(row.payload).__name__ not in types:
                continue
            if json:
                print_json_line(row_json(row, show_secrets=show_secrets, show_asked=asked))
            else:
                print_line(row_text(row, show_secrets=show_secrets, show_asked=asked))
        if json and verbose:
            print_json_line({"end": {"as_of": last, **bounds(reader)}})


def _rows(reader: "LogReader", first: int, last: int, object_: str | None) -> "Iterator[Envelope]":
    if object_ is not None:
        from replay.time_travel.objects import parse_object
        from replay.timeline import Timeline

        events = Timeline.of(reader).history(parse_object(object_), last + 1, from_offset=first)
        yield from (event.row for event in events)
        return
    for batch in reader.batches(first, last + 1):
        yield from (row for row in batch.rows if first <= row.offset <= last)


@app.command()
def image(
    log: LogPlace,
    at: At = "end",
    parts: Annotated[
        list[str] | None,
        typer.Option("--part", help="topics, partitions, configs, brokers, ...; repeatable."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="text|json|kraft-json", help="How to print it.")
    ] = "text",
    json: Json = False,
    show_secrets: ShowSecrets = False,
) -> None:
    """Show the cluster as of a point."""
    from api.cli.image_view import PARTS, image_document, print_image
    from api.cli.reading import image_at, offset_of, open_reader, provenance
    from api.redaction import redact_kraft_json
    from replay.image.kraft_json import kraft_json

    if format_ not in ("text", "json", "kraft-json"):
        raise typer.BadParameter(f"{format_!r} is not a format", param_hint="--format")
    for part in parts or []:
        if part not in PARTS:
            raise typer.BadParameter(f"{part!r} is none of {', '.join(PARTS)}", param_hint="--part")
    with open_reader(log) as reader:
        offset = offset_of(reader, at)
        found = image_at(reader, offset)
        about = provenance(reader, found, offset)
    if format_ == "kraft-json":
        document = kraft_json(found)
        print_json(document if show_secrets else redact_kraft_json(document))
    elif json or format_ == "json":
        print_json(image_document(found, about, parts, show_secrets=show_secrets))
    else:
        print_image(found, about, parts, show_secrets=show_secrets)


@app.command()
def digest(
    log: LogPlace,
    at: At = "end",
    by: Annotated[
        str, typer.Option("--by", metavar="replay|snapshot|spark", help="How to compute it.")
    ] = "replay",
    json: Json = False,
) -> None:
    """Print the digest of the image at a point, computed in the way named."""
    from api.cli.digests import COMPUTED_BY
    from api.cli.reading import bounds, offset_of, open_reader

    if by not in COMPUTED_BY:
        raise typer.BadParameter(f"{by!r} is none of {', '.join(COMPUTED_BY)}", param_hint="--by")
    with open_reader(log) as reader:
        offset = offset_of(reader, at)
        found = COMPUTED_BY[by](reader, offset)
        document: dict[str, Any] = {"digest": found, "by": by, "as_of": offset, **bounds(reader)}
    if json:
        print_json(document)
    else:
        print_line(found)
