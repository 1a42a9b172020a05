"""The `du` command: disk usage of a log."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import At, Json, LogOrServer, Server
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import bytes_size_text, print_json, print_line, print_table

if TYPE_CHECKING:
    from replay.usage import Usage

_COLUMNS = {
    "type": ("records", "log", "objects", "image"),
    "topic": ("records", "log", "objects", "image"),
    "cause": ("records", "log"),
    "principal": ("records", "log"),
    "unknown": ("records", "log"),
    "file": ("files", "size"),
}


@command()
@reads_only
def du(
    log: LogOrServer,
    at: At = "end",
    by: Annotated[
        list[str] | None,
        Option(
            "--by",
            metavar="type|topic|cause|principal|unknown|file",
            help="How to group; repeatable; default: all groupings.",
        ),
    ] = None,
    top: Annotated[
        int,
        Option(
            metavar="N",
            min=1,
            help="Number of rows to print of each grouping, the largest first; JSON has all rows.",
        ),
    ] = 10,
    json: Json = False,
    server: Server = None,
) -> None:
    """Show disk usage: records and bytes in the log, bytes in the image."""
    from api.documents.usage import UsageRows
    from api.questions.usage import USAGE, ShowUsage
    from replay.usage import WAYS

    for way in by or []:
        if way not in WAYS:
            raise bad_parameter(f"{way!r} is none of {', '.join(WAYS)}", param_hint="--by")
    result = log.ask(USAGE, ShowUsage(by=tuple(by or ())), at=at)
    rows = list(result.items)
    about = result.about()
    if json:
        print_json(place_of(about), UsageRows(rows=rows))
        return
    for number, (way, of_way) in enumerate(groupby(rows, key=lambda row: row.by)):
        if number:
            print_line()
        _print_way(way, list(of_way), top)
    print_remark(about)


def _print_way(way: str, rows: "list[Usage]", top: int) -> None:
    shown, rest = rows[:top], rows[top:]
    lines = [(row.name, *_cells(row)) for row in shown]
    if rest:
        lines.append((f"{len(rest):,} more", *_total(rest)))
    lines.append((f"all {len(rows):,}", *_total(rows)))
    print_table((way, *_COLUMNS[way]), lines)


def _cells(row: "Usage") -> tuple[object, ...]:
    return _texts(row.by, row.records, row.bytes_log, row.objects, row.bytes_image)


def _total(rows: "list[Usage]") -> tuple[object, ...]:
    records = sum(row.records or 0 for row in rows)
    objects = sum(row.objects or 0 for row in rows)
    image = sum(row.bytes_image or 0 for row in rows)
    return _texts(rows[0].by, records, sum(row.bytes_log for row in rows), objects, image)


def _texts(
    way: str, records: int | None, log: int, objects: int | None, image: int | None
) -> tuple[object, ...]:
    values = {
        "records": f"{records or 0:,}",
        "log": bytes_size_text(log),
        "size": bytes_size_text(log),
        "objects": f"{objects or 0:,}",
        "files": f"{objects or 0:,}",
        "image": bytes_size_text(image or 0),
    }
    return tuple([values[column] for column in _COLUMNS[way]])
