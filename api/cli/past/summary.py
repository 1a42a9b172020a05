"""The command `summary`: what happened, on one screen."""

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
        print_line(f"{time_text(found.from_time)} to {time_text(found.to_time)}")
    for clause in found.clauses:
        print_hanging(f"{'!' if clause.is_bad else '-'} {clause.text}")
    print_remark(about)
