"""The command `why`: the records that led to a value."""

from api.cli.parser.quick import command
from api.cli.source.arguments import (
    At,
    Json,
    LogOrServer,
    ObjectText,
    Server,
    ShowSecrets,
)
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.source.origins import askers_text
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    field_text,
    print_json,
    print_line,
    time_text,
)


@command()
@reads_only
def why(
    log: LogOrServer,
    object_: ObjectText,
    at: At = "end",
    json: Json = False,
    show_secrets: ShowSecrets = False,
    server: Server = None,
) -> None:
    """Show the records that led to a value, such as that of partition:T/0#leader."""
    from api.questions.why import WHY, AskWhy

    result = log.ask(WHY, AskWhy(object=object_, show_secrets=show_secrets), at=at)
    about = result.about()
    if json:
        print_json(place_of(about), result.answer)
        return
    found = result.answer
    value = field_text(found.object, found.field, found.value)
    print_line(f"{found.object}#{found.field} is {value} at {about.as_of}")
    for remark in found.notes:
        print_line(f"  {remark}")
    if found.chain:
        print_line()
        if len(found.chain) > 1:
            print_line("newest first:")
    for link in found.chain:
        by = "" if link.principal is None else f"  by {link.principal}"
        asked = askers_text((link.asked,) if link.asked else (), link.principal)
        print_line(
            f"{link.offset:>8} {time_text(link.time)} {link.type}{by}{asked and f'  {asked}'}"
        )
        print_line(f"{'':>10}{link.text}")
    print_remark(about)
