"""Prints the contents of a log: dump, image, digest."""

from typing import Annotated

from api.cli.options.parameters import Option, bad_parameter
from api.cli.options.snapshot_database import DATABASE
from api.cli.parser.quick import command
from api.cli.source.arguments import (
    At,
    From,
    Json,
    LogOrServer,
    MaskHosts,
    Server,
    ShowAsked,
    ShowSecrets,
    To,
)
from api.cli.source.image_view import print_objects, print_overview, print_remark
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source, print_end
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import print_json, print_json_line, print_json_pieces, print_line


@command()
@reads_only
def dump(
    log: LogOrServer,
    from_: From = "start",
    to: To = "end",
    types: Annotated[
        list[str] | None, Option("--type", help="Only this record type; repeatable.")
    ] = None,
    object_: Annotated[
        str | None,
        Option("--object", metavar="OBJECT", help="Only records that changed this object."),
    ] = None,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    asked: ShowAsked = False,
    mask_hosts: MaskHosts = False,
    verbose: Annotated[
        bool,
        Option(
            "--verbose",
            help="Also print the position in the log at the end, such as `as of offset 4107`.",
        ),
    ] = False,
    server: Server = None,
) -> None:
    """Print records, one a line."""
    from api.cli.source.row_mask import row_mask
    from api.cli.source.rows import check_types, row_text
    from api.questions.rows import DUMP, ShowRows

    check_types(types or [])
    request = ShowRows(
        first=log.point(from_),
        types=tuple(types or ()),
        object=object_,
        asked=asked,
        show_secrets=show_secrets,
    )
    mask = row_mask(log, to, asked=asked) if mask_hosts else None
    result = log.ask(DUMP, request, at=to)
    for shown in result.items:
        row = shown if mask is None else mask(shown)
        if json:
            print_json_line(row)
        else:
            print_line(row_text(row))
    if verbose:
        print_end(result.about(), json=json)


@command()
@reads_only
def image(
    log: LogOrServer,
    at: At = "end",
    parts: Annotated[
        list[str] | None,
        Option(
            "--part",
            help="Part of the image, such as topics, partitions, configs or brokers; repeatable; "
            "default: all.",
        ),
    ] = None,
    format_: Annotated[
        str, Option("--format", metavar="text|json|kraft-json", help="Output format.")
    ] = "text",
    json: Json = False,
    show_secrets: ShowSecrets = False,
    server: Server = None,
) -> None:
    """Show the cluster as of a point."""
    if format_ not in ("text", "json", "kraft-json"):
        raise bad_parameter(f"{format_!r} is not a format", param_hint="--format")
    if json or parts or format_ != "text":
        _print_parts(
            log, at, parts or [], "json" if json and format_ == "text" else format_, show_secrets
        )
        return
    from api.questions.overview import OVERVIEW, ShowOverview

    result = log.ask(OVERVIEW, ShowOverview(), at=at)
    print_overview(result.answer, result.about())


def _print_parts(log: Source, at: str, parts: list[str], format_: str, show_secrets: bool) -> None:
    from api.documents.pieces import Image
    from api.questions.objects import IMAGE, KRAFT_IMAGE, PARTS, ShowImage, ShowKraftImage, joined

    for part in parts:
        if part not in PARTS:
            raise bad_parameter(f"{part!r} is none of {', '.join(PARTS)}", param_hint="--part")
    if format_ == "kraft-json":
        result = log.ask(KRAFT_IMAGE, ShowKraftImage(show_secrets=show_secrets), at=at)
        print_json_pieces(result.items)
        return
    result = log.ask(IMAGE, ShowImage(parts=tuple(parts), show_secrets=show_secrets), at=at)
    objects = joined(result.items)
    if format_ == "json":
        print_json(place_of(result.about()), Image(parts=objects))
    else:
        print_objects(objects, result.about())


@command()
@reads_only
def digest(
    log: LogOrServer,
    at: At = "end",
    by: Annotated[
        str, Option("--by", metavar="replay|snapshot|sql|spark", help="How to compute the digest.")
    ] = "replay",
    database: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Database to read: with --by sql the history, by default "
            "sqlite:///LOG/history.db; with --by snapshot the snapshots, by default "
            "sqlite:///LOG/snapshots.db",
        ),
    ] = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Print the digest of the image at a point; --by selects how it is computed."""
    from api.cli.log.digests import WAYS, by_spark, by_sql
    from api.questions.objects import DIGEST, ShowDigest

    if by not in WAYS:
        raise bad_parameter(f"{by!r} is none of {', '.join(WAYS)}", param_hint="--by")
    if by == "sql":
        result = by_sql(log.place("--by sql"), at, database)
    elif by == "spark":
        result = by_spark(log.place("--by spark"), at)
    else:
        DATABASE.set(database if by == "snapshot" else None)
        result = log.ask(DIGEST, ShowDigest(by=by), at=at)
    if json:
        print_json(result.answer, place_of(result.about()))
    else:
        print_line(result.answer.digest)
        print_remark(result.about())
