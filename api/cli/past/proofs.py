"""Debugging a history: bisect, check."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from api.cli.options.parameters import Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import ExpressionText, From, Json, LogOrServer, Server, To
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import absolute_in, open_reader, place_of
from api.cli.source.source import log_path
from api.cli.terminal import event_loop
from api.cli.terminal.errors import ALERT, DONE, FOUND, reads_only
from api.cli.terminal.output import (
    count_text,
    point_text,
    print_event,
    print_json_pieces,
    print_line,
    time_text,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from api.alerts.checks import Checks
    from api.cli.source.source import Source
    from api.questions.objects import Piece
    from api.questions.question import Computed
    from replay.about import About


@command()
@reads_only
def bisect(
    log: LogOrServer,
    expression: ExpressionText,
    from_: From = "start",
    to: To = "end",
    monotone: Annotated[
        bool,
        Option(
            "--monotone",
            help="Assume that the value changes at most once, and find the change by binary "
            "search over snapshots.",
        ),
    ] = False,
    json: Json = False,
    server: Server = None,
) -> int:
    """Show where an expression flips, and the record behind each flip; exit 1 if it never holds."""
    from api.questions.bisect import BISECT, FindFlips

    request = FindFlips(expression=expression, first=log.point(from_), monotone=monotone)
    items, found, about = _document(log.ask(BISECT, request, at=to))
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


def _document(result: "Computed") -> "tuple[tuple[Piece, ...], dict[str, Any], About]":
    """Return the pieces of an answer, the document that they compose, and its position."""
    from api.questions.objects import joined

    items = tuple(result.items)
    return items, joined(items), result.about()


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
            metavar="EXPRESSION|FILE",
            help="Expression that must hold at every offset, repeatable; or a file of checks, see "
            "docs/alerts.md.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        Option(
            "--follow",
            help="Keep checking new records, and report every alert that begins or ends.",
        ),
    ] = False,
    once: Annotated[
        bool, Option("--once", help="With --follow: exit 7 after the first alert was delivered.")
    ] = False,
    state: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="With --follow: file that keeps the reported alerts across restarts; default: "
            "LOG.alerts.json.",
        ),
    ] = None,
    json: Json = False,
    server: Server = None,
) -> int:
    """Show which invariants a history violates, and since when; exit 1 if it violates any.

    With --follow it prints a line of JSON for each alert that begins or ends from now on, runs the
    command and posts to the webhook in the file of checks, until it is stopped.
    """
    from api.alerts.checks import checks_of
    from api.questions.check import CHECK, CheckHistory

    checks = checks_of(expect or [])
    if follow:
        return _follow(log, checks, from_, to, once=once, state=state)
    if once or state is not None:
        raise bad_parameter("--once and --state are for --follow")
    texts = tuple(expression.text for expression in checks.expect.values())
    request = CheckHistory(first=log.point(from_), expect=texts)
    items, document, about = _document(log.ask(CHECK, request, at=to))
    found = document["violations"]
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


def _follow(
    log: "Source", checks: "Checks", from_: str, to: str, *, once: bool, state: Path | None
) -> int:
    """Follow a log with its checks until SIGTERM or SIGINT; with `once`, until the first alert."""
    from api.alerts.follow import FollowedChecks, state_beside
    from api.alerts.state import StateFile
    from api.transport.shutdown import stopped_by_signal, unless_set

    if to != "end":
        raise bad_parameter("--follow has no end; leave out --to")
    place = log_path(str(log.place("check --follow")))
    with open_reader(place):
        pass  # refused before a state is made for what is no log

    async def run() -> int:
        file = StateFile(state or state_beside(place))
        try:
            followed = FollowedChecks(
                place, str(place), checks, file, print_event, first=from_, absolute=absolute_in
            )
            with stopped_by_signal() as stop:
                await unless_set(stop, followed.until_fired() if once else followed.run())
            return ALERT if once and followed.outbox.has_fired.is_set() else DONE
        finally:
            file.close()

    return event_loop.run_long(run())


def _print_violation(found: "dict[str, Any]") -> None:
    if found["offset"] is None:
        since = f"{'before the range':>34}"
    else:
        since = f"{time_text(found['time'])} {found['offset']:>9}"
    until = "still so at the end" if found["until"] is None else f"until {found['until']}"
    until = "a step" if found["until"] == found["offset"] else until
    of = "" if found["object"] is None else f" {found['object']}:"
    by = "" if found["principal"] is None else f" by {found['principal']}"
    batch = "" if found["type"] is None else f"  ({found['type']}{by})"
    print_line(f"{since}  {found['invariant']}:{of} {found['text']}; {until}{batch}")
