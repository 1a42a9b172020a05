"""The command `summary`: what happened, on one screen."""

from typing import TYPE_CHECKING

from api.cli.options.during import During, range_of
from api.cli.parser.quick import command
from api.cli.source.arguments import (
    From,
    Json,
    LogOrServer,
    Server,
    Until,
)
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    print_hanging,
    print_json,
    print_line,
    time_text,
)

if TYPE_CHECKING:
    from msgspec import UnsetType


@command()
@reads_only
def summary(
    log: LogOrServer,
    from_: From = "start",
    to: Until = None,
    during: During = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Show on one screen what happened: times without a leader, the end state, who changed what."""
    from api.questions.summary import SUMMARY, ShowSummary

    from_, to = range_of(during, from_, to)
    until = to or ("end" if log.server is None else "now")
    request = ShowSummary(first=log.point(from_), until=log.point(until, is_first=False))
    result = log.ask(SUMMARY, request, at=until)
    about = result.about()
    if json:
        print_json(place_of(about), result.answer)
        return
    found = result.answer
    if found.from_time is not None:
        begin = _within(found.asked_from, found.from_time, found.from_time_max)
        end = _within(found.asked_to, found.to_time, found.to_time_max)
        print_line(f"{time_text(begin)} to {time_text(end)}")
    for clause in found.clauses:
        print_hanging(f"{'!' if clause.is_bad else '-'} {clause.text}", indent=2)
    print_remark(about)


def _within(
    asked: "int | UnsetType", earliest: int | None, latest: "int | UnsetType"
) -> int | None:
    """Return the time that was asked for, if the record is in NoOps whose times are not kept."""
    if isinstance(asked, int) and isinstance(latest, int) and (earliest or 0) <= asked <= latest:
        return asked
    return earliest
