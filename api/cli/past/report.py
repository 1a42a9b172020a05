"""The `report` command: writes an HTML file about a range of the log."""

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import From, Json, LogOrServer, MaskHosts, Server, To
from api.cli.source.gaps import gap_text
from api.cli.source.image_view import print_gap_before
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import count_text, note, print_json, print_line

if TYPE_CHECKING:
    from api.questions.report import ReportPiece


def _html_path(text: str) -> Path:
    if not text.endswith((".html", ".htm")):
        raise bad_parameter(f"{text!r} does not end with .html or .htm")
    return Path(text)


@command()
@reads_only
def report(
    log: LogOrServer,
    file: Annotated[
        Path,
        Argument(
            metavar="FILE.html",
            help="File to write; an existing file is replaced.",
            show_default=False,
            parser=_html_path,
        ),
    ],
    from_: From = "start",
    to: To = "end",
    mask_hosts: MaskHosts = False,
    notes: Annotated[
        list[str] | None,
        Option(
            "--note",
            metavar="OFFSET:TEXT",
            help="Pin a note to a record in the report, not in the log; repeatable.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Write one HTML file that shows what happened between two points, without secrets."""
    from msgspec import UNSET

    from api.documents.reports import Written
    from api.questions.report import REPORT, ShowReport
    from api.report.page import PageCommand, PageNote, report_page

    pinned = tuple([PageNote(offset=at, text=text) for at, text in map(_note, notes or ())])
    request = ShowReport(first=log.point(from_), mask_hosts=mask_hosts)
    result = log.ask(REPORT, request, at=to)
    pieces: list[ReportPiece] = list(result.items)
    about = result.about()
    packed = b"".join(piece.content for piece in pieces)
    first = pieces[0]
    for each in pinned:
        if not first.first <= each.offset <= first.last:
            raise bad_parameter(
                f"--note {each.offset}: the report has the offsets {first.first} to {first.last}"
            )
    name, where = _place(log, is_hidden=mask_hosts)
    made_by = PageCommand(name=name, where=where, masked=mask_hosts, notes=pinned)
    _write(file, report_page(packed, made_by))
    written = Written(
        file=str(file),
        records=first.records,
        changes=first.changes,
        opens=first.opens,
        narrowed=first.narrowed,
        gaps=first.gaps or UNSET,
    )
    if json:
        print_json(place_of(about), written)
        return
    if first.narrowed:
        note("the whole range is too large for one file: it was narrowed")
    print_line(
        f"{file}: {count_text(first.changes, 'change')} of offsets {first.first} to {first.last}"
    )
    for gap in first.gaps:
        print_line(gap_text(gap))
    print_gap_before(about)


def _note(text: str) -> tuple[int, str]:
    offset, colon, words = text.partition(":")
    if not colon or not offset.isdecimal() or not words.strip():
        raise bad_parameter(f"--note {text!r} is not OFFSET:TEXT, as in 300:'disk replaced'")
    return int(offset), words.strip()


def _place(log: Source, *, is_hidden: bool) -> tuple[str, str]:
    """Return the name of the log or service, and its arguments in a command."""
    if is_hidden:
        # A path may name a person, a URL a host.
        return "report", "LOG"
    if log.server is not None:
        return log.server, f"--server {shlex.quote(log.server)}"
    return Path(str(log.log)).resolve().name, shlex.quote(str(log.log))


def _write(file: Path, page: str) -> None:
    """Write a file completely or not at all."""
    part = file.with_name(file.name + ".part")
    try:
        part.write_text(page, encoding="utf-8")
        os.replace(part, file)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            # Writing and closing do not know the file's name.
            error.filename = str(file)
        raise
