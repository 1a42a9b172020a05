"""Debugging a history: bisect, check."""

from typing import TYPE_CHECKING, Annotated, Any

from api.cli.options.parameters import Argument, Option
from api.cli.parser.quick import command
from api.cli.source.arguments import From, Json, LogOrServer, Server, To
from api.cli.source.opened_log import place_of
from api.cli.source.source import print_remark
from api.cli.terminal.errors import DONE, FOUND, reads_only
from api.cli.terminal.output import (
    count_text,
    point_text,
    print_json_pieces,
    print_line,
    time_text,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_Expression = Annotated[
    str,
    Argument(
        metavar="EXPRESSION",
        help="Such as 'topics[\"orders\"].partitions[0].leader == -1': docs/expressions.md.",
        show_default=False,
    ),
]


@command()
@reads_only
def bisect(
    log: LogOrServer,
    expression: _Expression,
    from_: From = "start",
    to: To = "end",
    monotone: Annotated[
        bool,
        Option("--monotone", help="Assume that it flips at most once, and halve over snapshots."),
    ] = False,
    json: Json = False,
    server: Server = None,
) -> int:
    """Show where an expression flips, and the record behind each flip; exit 1 if it never holds."""
    from api.questions.bisect import BISECT, FindFlips
    from api.questions.objects import Piece, joined

    request = FindFlips(expression=expression, first=log.point(from_), monotone=monotone)
    result = log.ask(BISECT, request, at=to)
    items: tuple[Piece, ...] = tuple(result.items)
    about = result.about()
    found = joined(items)
    code = FOUND if found["first"] is None else DONE
    if json:
        print_json_pieces(items, lambda: place_of(about))
        return code
    if found["assumed"] is not None:
        print_line(f"assumed: {found['assumed']}")
    if found["first"] is None:
        print_line(f"it holds nowhere between {from_} and {to}")
    else:
        flips = count_text(len(found["flips"]), "flip")
        print_line(f"it holds first at offset {found['first']}; {flips}")
    print_line(f"{'before':>24} {'':>9}  {value_text(found['before'])}")
    _print_flips(found["flips"])
    print_remark(about)
    return code


def _print_flips(flips: "Iterable[dict[str, Any]]") -> None:
    for flip in flips:
        by = "" if flip["principal"] is None else f" by {flip['principal']}"
        why = "" if flip["reason"] is None else f": {flip['reason']}"
        cause = "" if flip["cause"] == flip["offset"] else f" at {flip['cause']}"
        print_line(
            f"{time_text(flip['time'])} {flip['offset']:>9}  {value_text(flip['value'])}  "
            f"{flip['type']}{cause}{by}{why}"
        )


@command()
@reads_only
def check(
    log: LogOrServer,
    from_: From = "start",
    to: To = "end",
    expect: Annotated[
        list[str] | None,
        Option(
            "--expect",
            metavar="EXPRESSION",
            help="Also check that this holds at every offset; repeatable.",
        ),
    ] = None,
    json: Json = False,
    server: Server = None,
) -> int:
    """Show which invariants a history violates, and since when; exit 1 if it violates any."""
    from api.questions.check import CHECK, CheckHistory
    from api.questions.objects import Piece, joined

    request = CheckHistory(first=log.point(from_), expect=tuple(expect or ()))
    result = log.ask(CHECK, request, at=to)
    items: tuple[Piece, ...] = tuple(result.items)
    about = result.about()
    found = joined(items)["violations"]
    if json:
        print_json_pieces(items, lambda: place_of(about))
    else:
        count = count_text(len(found), "violation") if found else "no violation"
        since = f" from {point_text(about.from_)}" if about.from_ else ""
        print_line(f"{count}{since} up to {point_text(about.as_of)}")
        for each in found:
            _print_violation(each)
        print_remark(about)
    return FOUND if found else DONE


def _print_violation(found: "dict[str, Any]") -> None:
    if found["offset"] is None:
        since = f"{'before the range':>34}"
    else:
        since = f"{time_text(found['time'])} {found['offset']:>9}"
    until = "it lasts" if found["until"] is None else f"until {found['until']}"
    until = "a step" if found["until"] == found["offset"] else until
    of = "" if found["object"] is None else f" {found['object']}:"
    by = "" if found["principal"] is None else f" by {found['principal']}"
    batch = "" if found["type"] is None else f"  ({found['type']}{by})"
    print_line(f"{since}  {found['invariant']}:{of} {found['text']}; {until}{batch}")
