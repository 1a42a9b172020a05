"""Time travel: history, diff, blame."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.options.query_options import KEEP_GOING
from api.cli.parser.quick import command
from api.cli.source.arguments import (
    At,
    From,
    Json,
    LogOrServer,
    ObjectText,
    Server,
    ShowSecrets,
    To,
)
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.source.origins import asked_text, by_text, origin_text, print_unknown_origin
from api.cli.source.source import print_end
from api.cli.terminal.errors import FOUND, reads_only
from api.cli.terminal.output import (
    count_text,
    field_text,
    note,
    point_text,
    print_json,
    print_json_line,
    print_line,
    print_table,
    time_text,
)

if TYPE_CHECKING:
    from api.documents.comparisons import DiffStat
    from api.questions.blame import FieldSetter
    from api.questions.changes import FieldChange, ObjectChange
    from api.questions.history import ObjectEvent


@command()
@reads_only
def history(
    log: LogOrServer,
    object_: ObjectText,
    from_: From = "start",
    to: To = "end",
    last: Annotated[
        int | None, Option(metavar="N", min=1, help="Only the newest N changes.")
    ] = None,
    next_: Annotated[
        str | None, Option("--next", metavar="POINT", help="Only the next change after a point.")
    ] = None,
    prev: Annotated[
        str | None, Option("--prev", metavar="POINT", help="Only the last change before a point.")
    ] = None,
    notes: Annotated[
        bool, Option("--notes", help="Also print the notes about each change.")
    ] = False,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    verbose: Annotated[
        bool,
        Option(
            "--verbose", help="Also print the client of each change, and the position in the log."
        ),
    ] = False,
    server: Server = None,
) -> None:
    """Show all changes of an object, or of the objects of a pattern (topic:or*), oldest first."""
    from api.questions.history import HISTORY, ShowHistory, Step
    from api.questions.parts import GapFound

    ranged = from_ != "start" or to != "end" or last is not None
    if sum((next_ is not None, prev is not None, ranged)) > 1:
        raise bad_parameter("choose one of --next, --prev, and a range by --from, --to and --last")
    point = next_ if prev is None else prev
    request = ShowHistory(
        object=object_,
        first=log.point(from_),
        last=last,
        step=None if point is None else Step.NEXT if prev is None else Step.PREV,
        fates=not json,
        show_secrets=show_secrets,
        notes=notes,
    )
    result = log.ask(HISTORY, request, at=to if point is None else point)
    origins, gaps = [], 0
    for event in result.items:
        if isinstance(event, GapFound):
            gaps += 1
        else:
            origins.append(event.origin)
        if json:
            print_json_line(event)
        elif isinstance(event, GapFound):
            from api.cli.source.gaps import print_gap

            print_gap(event)
            for line in lines_of_found(event.found or ()):
                print_line(line)
        else:
            print_event(event, object_, verbose=verbose)
    if not json:
        print_unknown_origin(origins)
    if verbose or KEEP_GOING.get():
        print_end(result.about(), json=json)
    if not origins and not gaps:
        between = f"between {from_} and {to}"
        where = between if point is None else f"{'after' if prev is None else 'before'} {point}"
        note(f"{object_} did not change {where}")


def lines_of_found(found: "Sequence[ObjectChange]") -> Iterator[str]:
    """Yield lines of text about the changes that were found after a gap."""
    for name, of_object in itertools.groupby(found, key=lambda change: change.object):
        yield f"{'':>10}{name}"
        for line in _lines(list(of_object), name):
            yield f"{'':>12}{line}"


def print_event(event: "ObjectEvent", name: str = "", *, verbose: bool = False) -> None:
    """Print a change of an object.

    Args:
        name: The object's name, if the event does not have it.
        verbose: Also print the client that requested it.
    """
    by = by_text(event.origin, verbose=verbose)
    asked = asked_text(event, verbose=verbose)
    whom = f"{by and f' {by}'}{asked and f', {asked}'}"
    print_line(f"{event.offset:>8} {time_text(event.timestamp)} {event.type}{whom}")
    indent = " " * 10
    if isinstance(event.object, str):
        name = event.object
        print_line(f"{indent}{name}")
        indent += "  "
    for line in _lines(event.changes, name):
        print_line(f"{indent}{line}")
    for pinned in event.notes or ():
        print_line(f"{indent}note of {pinned.author}: {pinned.text}")


# The start of a log is printed as offset -1, which must not be taken for an option.
@command(context_settings={"ignore_unknown_options": True})
@reads_only
def diff(
    log: LogOrServer,
    before: Annotated[str, Argument(metavar="P1", help="The earlier point.")],
    after: Annotated[str, Argument(metavar="P2", help="The later point.")],
    object_: Annotated[
        str | None, Option("--object", metavar="OBJECT", help="Only this object.")
    ] = None,
    exit_code: Annotated[
        bool, Option("--exit-code", help="Exit 1 when there are differences.")
    ] = False,
    stat: Annotated[
        bool, Option("--stat", help="Print only how many objects and fields differ, by kind.")
    ] = False,
    other: Annotated[
        str | None,
        Option(
            "--other",
            metavar="LOG2",
            help="Log, or URL of a service, in which P2 is a point; objects are compared by name. "
            "Short form: LOG@P1 LOG2@P2.",
        ),
    ] = None,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    server: Server = None,
) -> int:
    """Show what differs between two points, of one log or of two."""
    from api.documents.comparisons import Differences, diff_stat
    from api.questions.differences import DIFF, ShowDiff
    from replay.time_travel.short_lived import RECORDS_MAX

    before, after = before.strip(), after.strip()
    request = ShowDiff(
        before=log.point(before, is_first=False),
        object=object_,
        fates=stat or not json,
        show_secrets=show_secrets,
        passed=other is None and not stat,
    )
    if other is None:
        result = log.ask(DIFF, request, at=after)
        found = list(result.items)
        about = result.about()
    else:
        from api.cli.source.two_logs import diff_of_logs

        found, about = diff_of_logs(log, other, request, after)
    differences = Differences.of(request, found)
    changes, passed = differences.changes, differences.passed or ()
    if json:
        print_json(place_of(about), diff_stat(changes) if stat else differences)
        return FOUND if exit_code and changes else 0
    objects = len({change.object for change in changes})
    in_objects = f" in {count_text(objects, 'object')}" if changes else ""
    of_other = "" if other is None else f" of {other}"
    came_and_went = f", {count_text(len(passed), 'object')} came and went" if passed else ""
    print_line(
        f"{count_text(len(changes), 'difference')}{in_objects} between "
        f"{point_text(about.from_)} and {point_text(about.as_of)}{of_other}{came_and_went}"
    )
    if stat:
        _print_stat(diff_stat(changes))
    else:
        _print_changes(changes)
        for each in passed:
            print_line(each.object)
            print_line(f"    came and went: {each.from_offset} to {each.to_offset}")
        if request.passed and object_ is None and differences.passed is None:
            print_line(f"what came and went is not listed for more than {RECORDS_MAX:,} records")
    print_remark(about)
    return FOUND if exit_code and changes else 0


@command()
@reads_only
def blame(
    log: LogOrServer,
    object_: ObjectText,
    at: At = "end",
    json: Json = False,
    show_secrets: ShowSecrets = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Also print the client of each change.")
    ] = False,
    server: Server = None,
) -> None:
    """Show which record last set each field of an object, and who caused it."""
    from api.questions.blame import BLAME, ShowBlame

    result = log.ask(BLAME, ShowBlame(object=object_, show_secrets=show_secrets), at=at)
    about = result.about()
    if json:
        print_json(place_of(about), result.answer)
        return
    before = f"before {about.history_start}: not known"
    print_table(
        ("field", "offset", "time", "record", "by", "value"),
        [
            (
                field,
                found.offset if found.known else before,
                time_text(found.timestamp),
                found.type or "-",
                _whom(found, verbose=verbose),
                field_text(object_, field, found.value),
            )
            for field, found in result.answer.fields.items()
        ],
    )
    print_unknown_origin(found.origin for found in result.answer.fields.values() if found.known)
    print_remark(about)


def _whom(found: "FieldSetter", *, verbose: bool) -> str:
    asked = asked_text(found, verbose=verbose)
    return origin_text(found.origin, verbose=verbose) + (asked and f", {asked}")


def _print_changes(changes: "Sequence[ObjectChange]") -> None:
    for name, of_object in itertools.groupby(changes, key=lambda change: change.object):
        print_line(name)
        for line in _lines(list(of_object), name):
            print_line(f"    {line}")


def _print_stat(found: "DiffStat") -> None:
    rows = [(r.kind, r.new, r.gone, r.changed, r.fields) for r in found.stat]
    if rows:
        print_table(("kind", "new", "gone", "changed", "fields"), rows)


def _lines(changes: "Sequence[FieldChange | ObjectChange]", name: str) -> list[str]:
    """Return the changes of one object as text; creation or deletion of the object is one line."""
    fate = changes[0].fate
    if fate != "changed":
        side = "after" if fate == "new" else "before"
        fields = [
            f"{each.field}={field_text(name, each.field, getattr(each, side))}" for each in changes
        ]
        return [f"{fate}: {' '.join(fields)}"]
    return [
        f"{each.field}: {field_text(name, each.field, each.before)} -> "
        f"{field_text(name, each.field, each.after)}"
        for each in changes
    ]
