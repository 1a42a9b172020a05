"""The `what-if` command: compares a history with an alternative one."""

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

from api.cli.options.parameters import Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.past.what_if_differences import (
    SHOWN_MAX,
    decided_text,
    print_leaders,
    print_partings,
    print_rest,
)
from api.cli.source.arguments import Json, LogOrServer, Server, ShowSecrets, To
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    count_text,
    point_text,
    print_json_pieces,
    print_line,
)

if TYPE_CHECKING:
    from api.questions.question import Computed
    from api.requests.what_if import AskWhatIf
    from replay.about import About

_OFFSET = re.compile(r"\boffset \d+: (?:\w+Record: )?")
_WIDTH = 80
_INDENT, _INDENT_OF_REST = "  ", "      "


@command()
@reads_only
def what_if(
    log: LogOrServer,
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="POINT",
            help="Repeat the decisions after this point; default: from the first changed decision "
            "on; with --without or --drop-command from the log's start.",
        ),
    ] = None,
    to: To = "end",
    drop: Annotated[
        list[int] | None,
        Option(
            "--drop", metavar="OFFSET", help="Drop the decision that wrote this record; repeatable."
        ),
    ] = None,
    drop_record: Annotated[
        list[int] | None,
        Option("--drop-record", metavar="OFFSET", help="Drop only this record; repeatable."),
    ] = None,
    drop_command: Annotated[
        list[str] | None,
        Option(
            "--drop-command", metavar="NAME", help="Drop all decisions of a command; repeatable."
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        Option(
            "--without",
            metavar="OBJECT",
            help="Drop all decisions that changed this object, or gave it a value, such as "
            "broker:2#fenced=true; repeatable.",
        ),
    ] = None,
    edit: Annotated[
        list[str] | None,
        Option(
            "--edit",
            metavar="JSON|FILE",
            help="Replace the request of a decision, or fields of a record; repeatable.",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        Option("--add", metavar="JSON|FILE", help="Add commands or records; repeatable."),
    ] = None,
    save: Annotated[
        Path | None,
        Option(
            "--save", metavar="DIR", help="Write the fork to this directory, as a log of kind own."
        ),
    ] = None,
    verbose: Annotated[bool, Option("--verbose", help="Print all lines of each section.")] = False,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    server: Server = None,
) -> None:
    """Repeat past decisions with changes, and show the differences; the log is not changed.

    Brokers act as in the log: the controller decides otherwise, but a dead broker stays dead.

    An edit is {"offset": N, "data": {FIELDS}} for a record, or {"offset": N, "command": NAME,
    "request": {}} for the decision that wrote it. An addition is {"after": N, "command": NAME,
    "request": {}} or {"after": N, "type": RECORD, "data": {FIELDS}}; an addition without "after"
    comes first.
    """
    from api.cli.past.what_if_changes import added_of, edits_of
    from api.questions.objects import joined
    from api.requests.what_if import NEEDS_POINT, WHAT_IF, AskWhatIf

    replaced, edited = edits_of(edit or ())
    request = AskWhatIf(
        first=None if at is None else log.point(at, is_first=False),
        drop=tuple(drop or ()),
        drop_records=tuple(drop_record or ()),
        drop_commands=tuple(drop_command or ()),
        without=tuple(without or ()),
        replaced=replaced,
        edited=edited,
        added=added_of(add or ()),
        show_secrets=show_secrets,
    )
    if at is None and request.changes.needs_point:
        raise bad_parameter(NEEDS_POINT)
    result = log.ask(WHAT_IF, request, at=to) if save is None else _saved(log, to, request, save)
    if json:
        print_json_pieces(result.items, lambda: place_of(result.about()))
    else:
        found = joined(result.items)
        _print(found, result.about(), verbose, without or ())


def _saved(log: Source, to: str, request: "AskWhatIf", target: Path) -> "Computed":
    """Compute the answer from the log's directory, and save the fork at `target`."""
    from msgspec.structs import replace as replaced

    from api.questions.objects import Piece
    from api.requests.what_if import decided_anew, document_of
    from replay.care.saved_fork import check_new, save_fork

    place = log.place("--save")
    check_new(target)
    with log.past() as past:
        anew = decided_anew(past, past.offset(to), request, keep=True)
        written = anew.written
        about = (
            f"made by `metalog what-if` of {place}, cluster {past.reader.cluster_id}: "
            f"decisions repeated after offset {anew.start - 1}, up to {anew.end}; what follows did "
            "not happen"
        )
        save_fork(past.reader, target, written, anew.fork.state.image, about)
        result = document_of(anew, past, request)
        saved = {"log": str(target), "first_offset": written.start, "end_offset": written.end}
        return replaced(result, items=[*result.items, Piece("saved", saved)])


def _print(found: dict[str, Any], about: "About", verbose: bool, without: Sequence[str]) -> None:
    start = point_text(about.from_)
    saved = found.get("saved")
    where = "nothing is written" if saved is None else "the log stays as it is"
    print_line(f"decisions repeated after {start}, up to {about.as_of}; {where}")
    print_line(f"  {decided_text(found['decided'])}")
    print_line("  brokers act as in the log: only the controller's decisions are repeated")
    _print_texts(f"changed: {len(found['changed']):,}", found["changed"], verbose)
    if without and not found["changed"]:
        names = ", ".join(without)
        print_line(f"{_INDENT}no decision after {start} changed {names}: name an earlier point")
    print_partings(found["partings"], verbose)
    print_line()
    _print_end(found, about)
    _print_remarks("now refused, accepted in the log", found["refused"], verbose)
    _print_remarks("copied after the change, cause not known", found["undecidable"], verbose)
    _print_remarks("decided with the fork's epochs", found["substituted"], verbose)
    if saved is not None:
        print_line()
        print_line(
            f"{saved['log']}: an own log of the fork, up to offset {saved['end_offset'] - 1}"
        )
        print_line(f"  what was changed: metalog notes list --log {saved['log']}")


def _print_texts(title: str, texts: list[str], verbose: bool) -> None:
    print_line()
    print_line(title)
    for text in texts if verbose else texts[:SHOWN_MAX]:
        for line in _wrapped(text):
            print_line(line)
    print_rest(texts, verbose)


def _print_remarks(title: str, remarks: list[dict[str, Any]], verbose: bool) -> None:
    """Print remarks; those with the same text are one line, unless `verbose`."""
    if not remarks:
        return
    alike: dict[tuple[str, int | None], list[int]] = {}
    for number, each in enumerate(remarks):
        text = " ".join(filter(None, (each.get("code"), _OFFSET.sub("", each["text"]))))
        alike.setdefault((text, number if verbose else None), []).append(each["offset"])
    texts = [f"{_places(offsets)} {text}" for (text, _), offsets in alike.items()]
    _print_texts(f"{title}: {len(remarks):,}", texts, verbose)


def _places(offsets: list[int]) -> str:
    if len(offsets) == 1:
        return str(offsets[0])
    return f"{offsets[0]} to {offsets[-1]}, {len(offsets):,} times:"


def _wrapped(text: str) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT_OF_REST,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _print_end(found: dict[str, Any], about: "About") -> None:
    lasting = {each["object"] for each in found["partings"] if each["to_offset"] is None}
    alike = {each["object"] for each in found["differences"]} - lasting
    print_leaders(found["leaderless"])
    but = f", but for epochs or ISR order in {count_text(len(alike), 'object')}" if alike else ""
    if lasting:
        print_line(f"still different at {about.as_of}: {count_text(len(lasting), 'object')}")
    elif found["partings"]:
        print_line(f"both are equal again from offset {found['meets_again']} on{but}")
    else:
        print_line(f"both are equal all the time{but}")
