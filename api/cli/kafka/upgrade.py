"""The `upgrade-check` command: finds what prevents a change to another version of Kafka."""

from typing import Annotated

from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import At, Json, LogOrServer, Server
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.terminal.errors import DONE, FOUND, reads_only
from api.cli.terminal.output import print_json, print_line
from api.cli.terminal.prose import print_prose


@command()
@reads_only
def upgrade_check(
    log: LogOrServer,
    to: Annotated[
        str,
        Option(
            "--to",
            metavar="VERSION",
            help="Version to change to, such as 4.0, 3.9.1 or 4.0-IV1.",
            show_default=False,
        ),
    ],
    at: At = "end",
    json: Json = False,
    server: Server = None,
) -> int:
    """Show what prevents an upgrade or downgrade of Kafka; exit 1 if anything does."""
    from api.documents.upgrades import Upgrade
    from api.questions.upgrade import UPGRADE_CHECK, CheckUpgrade
    from controller.upgrade.findings import CHECKED, NOT_CHECKED

    result = log.ask(UPGRADE_CHECK, CheckUpgrade(to=to), at=at)
    findings = tuple(result.items)
    about = result.about()
    code = FOUND if findings else DONE
    if json:
        print_json(place_of(about), Upgrade(ready=not findings, findings=findings))
        return code
    print_line(f"nothing in the log stands in the way of {to}" if not findings else f"to {to}:")
    for each in findings:
        offset = "-" if each.offset is None else str(each.offset)
        print_prose(f"{offset:>9}  ", each.text)
        print_prose(f"{'':>9}    ", each.remedy)
    print_prose("checked: ", f"{CHECKED}; as of offset {about.as_of}")
    print_prose("not checked: ", NOT_CHECKED)
    print_remark(about)
    return code
