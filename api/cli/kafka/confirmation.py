"""The `confirm` command: declares the end of a mirror committed, once its cluster is gone."""

from typing import Annotated

from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Json, Log
from api.cli.source.opened_log import log_about
from api.cli.terminal.output import print_json, print_line
from records.errors import RequestError


@command()
def confirm(
    log: Log,
    reason: Annotated[
        str,
        Option(
            "--reason",
            metavar="TEXT",
            help="Why Kafka will not replace the records; this text is kept beside the log.",
            show_default=False,
        ),
    ],
    compared: Annotated[
        list[str] | None,
        Option(
            "--with",
            metavar="LOG",
            help="Log of another node, or a mirror of one, that must have the same records as "
            "LOG; repeatable.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Confirm, for good, all records of a mirror whose cluster no longer exists.

    SQL history, export and streams then have all records of the mirror. A later import that has
    other records in their place is refused.
    """
    from api.documents.logs import Confirmed
    from metadata_log.kraft.confirmation import confirm as confirm_mirror
    from metadata_log.writer.clock import SystemClock

    equal_up_to = _equal_up_to(str(log), compared) if compared else {}
    made = confirm_mirror(log, reason, equal_up_to, SystemClock().now_ms())
    if json:
        confirmed = Confirmed(
            from_=made.from_offset,
            to=made.to_offset,
            reason=made.reason,
            equal_up_to=made.equal_up_to,
        )
        print_json(log_about(log), confirmed)
        return
    print_line(f"{log}: offsets {made.from_offset} to {made.to_offset - 1} are confirmed now")
    print_line(f"  reason: {made.reason}")
    for name, end_offset in made.equal_up_to.items():
        print_line(f"  equal in {name} up to offset {end_offset - 1}")


def _equal_up_to(log: str, others: list[str]) -> dict[str, int]:
    """Return the offset below which each log is equal to the mirror.

    Raises:
        RequestError: INVALID_REQUEST, a log is damaged, of another cluster, or differs.
    """
    from api.questions.compared_logs import compare_logs

    found, _ = compare_logs([log, *others])
    if not found.is_sound or found.common_end is None:
        raise RequestError(
            "INVALID_REQUEST",
            f"{log} and the other logs differ, have no offset in common, are damaged, or are of "
            f"several clusters; look at `metalog compare {log} {' '.join(others)}`",
        )
    ends = {node.name: node.end for node in found.nodes}
    return {name: min(ends[name], ends[log]) for name in others}
