"""The command `timeline`: what happened between two points, in words."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from api.cli.options.during import During, range_of
from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import (
    From,
    Json,
    LogOrServer,
    Server,
    To,
)
from api.cli.source.gaps import print_gap
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.source.origins import askers_text, print_unknown_origin
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    duration_text,
    note,
    print_hanging,
    print_json,
    print_line,
    print_table,
    time_text,
)

if TYPE_CHECKING:
    from api.documents.incidents import ActiveController
    from api.questions.parts import GapFound
    from replay.incidents.event import TimelineEvent

_ASKED_FOR = frozenset({"topics", "others"})
"""Kinds of events that callers request."""

_NAMED_MAX = 3
"""Maximum number of partitions that an event names; if there are more, only their count."""


@command()
@reads_only
def timeline(
    log: LogOrServer,
    from_: From = "start",
    to: To = "end",
    during: During = None,
    types: Annotated[
        list[str] | None,
        Option(
            "--type",
            "--kind",
            metavar="KIND",
            help="Only events of this kind: controllers, brokers, partitions, topics, notes or "
            "others; or only events that touch objects of this kind, such as config or acl; "
            "repeatable.",
        ),
    ] = None,
    objects: Annotated[
        list[str] | None,
        Option(
            "--object",
            metavar="OBJECT",
            help="Only events that touch this object: its name, or a pattern such as "
            "partition:orders*/0; "
            "repeatable.",
        ),
    ] = None,
    by_people: Annotated[
        bool,
        Option(
            "--by-people",
            help="Only changes that people or their tools asked for, such as new topics, configs "
            "and reassignments: not what brokers report or the controller does by itself.",
        ),
    ] = False,
    stat: Annotated[
        bool, Option("--stat", help="Print only the number of events of each kind.")
    ] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Also print the client and the objects of each event.")
    ] = False,
    json: Json = False,
    server: Server = None,
) -> None:
    """Show what happened between two points, in words, grouped by cause."""
    from api.documents.incidents import Stat, Timeline, active_controllers
    from api.questions.timeline import TIMELINE, ShowTimeline

    from_, last = range_of(during, from_, to)
    request = ShowTimeline(
        first=log.point(from_),
        kinds=tuple(types or ()),
        objects=tuple(objects or ()),
        by_people=by_people,
    )
    result = log.ask(TIMELINE, request, at=last or to)
    items = tuple(result.items)
    found, about = Timeline.of(items), result.about()
    events = found.events
    if json:
        print_json(place_of(about), Stat.of(events) if stat else found)
        return
    if about.no_records:
        print_line(about.no_records)
    if stat:
        rows = [
            (name, f"{of.events:,}", f"{of.objects:,}") for name, of in Stat.of(events).stat.items()
        ]
        print_table(("kind", "events", "objects"), rows)
    else:
        if not items and not about.no_records:
            such = " such" if types or objects or by_people else ""
            note(f"no{such} event from {from_} to {last or to}")
        _print_events(items, verbose)
        print_unknown_origin(each.principal for each in events if each.kind in _ASKED_FOR)
    if types == ["controllers"]:
        _print_active(active_controllers(events))
    print_remark(about)


def _print_active(nodes: "Sequence[ActiveController]") -> None:
    """Print how often and how long each node was the active controller."""
    if nodes:
        print_line()
        print_table(
            ("controller", "times active", "in all"),
            [(each.node, f"{each.terms:,}", _active_text(each)) for each in nodes],
        )


def _active_text(node: "ActiveController") -> str:
    text = duration_text(node.active_ms)
    return f"at least {text}" if node.active_ms_max else text


def _print_events(items: "Iterable[TimelineEvent | GapFound]", verbose: bool) -> None:
    from api.questions.parts import GapFound

    for event in items:
        if isinstance(event, GapFound):
            print_gap(event, verbose=verbose)
            continue
        offsets = str(event.from_offset)
        if event.to_offset != event.from_offset:
            offsets += f"-{event.to_offset}"
        outside = not (event.cause is None or event.from_offset <= event.cause <= event.to_offset)
        because = f" (because of offset {event.cause})" if outside else ""
        by = "" if event.principal is None else f"  by {event.principal}"
        # The text of a fencing already has its reason.
        is_new = event.reason is not None and event.reason not in event.text
        reason = f"{'' if by else ' '} ({event.reason})" if is_new else ""
        asked = askers_text(event.asked or (), event.principal)
        print_hanging(
            f"{time_text(event.time)} {offsets:>13}  {_named(event)}{because}{by}{reason}"
            f"{asked and f'  {asked}'}"
        )
        if verbose:
            client = () if event.client is None else (f"client {event.client}",)
            for line in (*client, *event.objects):
                print_line(f"{'':>40}{line}")


def _named(event: "TimelineEvent") -> str:
    """Return the text of an event; it names the partitions if they are few."""
    if event.kind not in ("brokers", "partitions") or len(event.objects) > _NAMED_MAX + 1:
        return event.text
    names = ", ".join([name for name in event.objects if name.startswith("partition:")])
    if not names or len(event.objects) - (event.kind == "brokers") > _NAMED_MAX:
        return event.text
    return f"{names}: {event.text}" if event.kind == "partitions" else f"{event.text} ({names})"
