"""The `confirm` command: takes the end of a mirror for committed, once its cluster is no more."""

from typing import Annotated

from api.cli.app import app
from api.cli.options.parameters import Option
from api.cli.source.arguments import Json, Log
from api.cli.source.opened_log import log_about
from api.cli.terminal.output import print_json, print_line


@app.command()
def confirm(
    log: Log,
    reason: Annotated[
        str,
        Option(
            "--reason",
            metavar="TEXT",
            help="Why Kafka will not replace the records; kept beside the log.",
            show_default=False,
        ),
    ],
    compared: Annotated[
        list[str] | None,
        Option(
            "--with",
            metavar="LOG",
            help="Log of another node, or a mirror of it: it must not part from this one; "
            "repeatable.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Confirm the end of a mirror whose cluster is no more, for good.

    SQL history, export and streams then have all of its records. A later import that differs there
    is refused.
    """
    from api.documents.logs import Confirmed
    from api.questions.compared_logs import compare_logs
    from metadata_log.kraft.confirmation import confirm as confirm_mirror
    from metadata_log.writer.clock import SystemClock
    from records.errors import RequestError

    others = compared or []
    if others:
        found, _ = compare_logs([str(log), *others])
        if not found.is_sound:
            raise RequestError(
                "INVALID_REQUEST",
                f"{log} and the other logs are damaged, of several clusters, or part; look at "
                f"`metalog compare {log} {' '.join(others)}`",
            )
    made = confirm_mirror(log, reason, others, SystemClock().now_ms())
    if json:
        confirmed = Confirmed(
            from_=made.from_offset,
            to=made.to_offset,
            reason=made.reason,
            agreeing=made.agreeing,
        )
        print_json(log_about(log), confirmed)
        return
    print_line(f"{log}: offsets {made.from_offset} to {made.to_offset - 1} are confirmed now")
    evidence = [f"equal in {', '.join(others)}"] if others else []
    print_line(f"  evidence: {'; '.join([*evidence, reason])}")
