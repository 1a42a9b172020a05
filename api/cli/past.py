"""Time travel: history, diff, blame."""

import itertools
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.arguments import At, From, Json, LogPlace, ObjectText, ShowSecrets, To
from api.cli.main import FOUND, app
from api.cli.output import (
    count_text,
    note,
    print_json,
    print_json_line,
    print_line,
    print_table,
    progress,
    time_text,
    value_text,
)

if TYPE_CHECKING:
    from replay.time_travel.history import Event


@app.command()
def history(
    log: LogPlace,
    object_: ObjectText,
    from_: From = "start",
    to: To = "end",
    last: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the newest N changes.")
    ] = None,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --json: a last line about the log.")
    ] = False,
) -> None:
    """Show every change of one object, oldest first."""
    from api.cli.reading import bounds, first_offset_of, offset_of, open_reader
    from replay.time_travel.objects import parse_object
    from replay.timeline import Timeline

    name = parse_object(object_)
    found = 0
    with open_reader(log) as reader:
        first, end = first_offset_of(reader, from_), offset_of(reader, to)
        with progress("reading", reader.history_start, end + 1) as advance:
            events = Timeline.of(reader).history(name, end + 1, advance, from_offset=first)
            for event in events if last is None else deque(events, last):
                found += 1
                _print_event(event, json=json, show_secrets=show_secrets)
        about = {"as_of": end, **bounds(reader)}
    if json and verbose:
        print_json_line({"end": about})
    if not found:
        since = max(first, about["history_start"])
        note(f"{object_} did not change between offsets {since} and {end}")


def _print_event(event: "Event", *, json: bool, show_secrets: bool) -> None:
    from api.cli.rows import origin_json, origin_text

    row = event.row
    changes = _shown(event.changes, show_secrets=show_secrets)
    if json:
        document = {
            "offset": row.offset,
            "timestamp": row.timestamp,
            "type": type(row.payload).__name__,
            "origin": origin_json(row.origin),
            "changes": [
                {"field": c["field"], "before": c["before"], "after": c["after"]} for c in changes
            ],
        }
        print_json_line(document)
        return
    print_line(
        f"{row.offset:>8} {time_text(row.timestamp)} {type(row.payload).__name__}  "
        f"by {origin_text(row.origin)}"
    )
    for line in _lines(changes):
        print_line(f"{'':>10}{line}")


# The start of a log is printed as offset -1, which must not be taken for an option.
@app.command(context_settings={"ignore_unknown_options": True})
def diff(
    log: LogPlace,
    before: Annotated[str, typer.Argument(metavar="P1", help="The earlier point.")],
    after: Annotated[str, typer.Argument(metavar="P2", help="The later point.")],
    object_: Annotated[
        str | None, typer.Option("--object", metavar="OBJECT", help="Only this object.")
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when there are differences.")
    ] = False,
    stat: Annotated[
        bool, typer.Option("--stat", help="Only how many objects and fields, by kind.")
    ] = False,
    json: Json = False,
    show_secrets: ShowSecrets = False,
) -> int:
    """Show what differs between two points."""
    from api.cli.reading import bounds, offset_of, open_reader
    from replay.time_travel.objects import parse_object
    from replay.timeline import Timeline

    only = parse_object(object_) if object_ is not None else None
    with open_reader(log) as reader:
        first, second = offset_of(reader, before), offset_of(reader, after)
        with progress("replaying", reader.history_start, min(first, second) + 1) as advance:
            found = Timeline.of(reader).diff(first, second, only, progress=advance)
        changes = _shown(found, show_secrets=show_secrets)
        about = {"from": first, "as_of": second, **bounds(reader)}
    if json:
        print_json(
            {**about, **({"stat": _stat(changes)} if stat else {"changes": _documents(changes)})}
        )
        return FOUND if exit_code and changes else 0
    objects = len({change["object"] for change in changes})
    in_objects = f" in {count_text(objects, 'object')}" if changes else ""
    print_line(
        f"{count_text(len(changes), 'difference')}{in_objects} between {_place(first)} and "
        f"{_place(second)}"
    )
    if stat:
        _print_stat(changes)
    else:
        _print_changes(changes)
    return FOUND if exit_code and changes else 0


@app.command()
def blame(
    log: LogPlace,
    object_: ObjectText,
    at: At = "end",
    json: Json = False,
    show_secrets: ShowSecrets = False,
) -> None:
    """Show for each field of an object which record last set it, and who caused that."""
    from api.cli.reading import bounds, offset_of, open_reader
    from api.cli.rows import origin_json, origin_text
    from api.redaction import redact_field
    from replay.time_travel.objects import parse_object
    from replay.timeline import Timeline

    name = parse_object(object_)
    with open_reader(log) as reader:
        offset = offset_of(reader, at)
        with progress("reading", reader.history_start, offset + 1) as advance:
            fields = Timeline.of(reader).blame(name, offset, advance)
        about = {"object": object_, "as_of": offset, **bounds(reader)}
    values = {
        field: found.value if show_secrets else redact_field(name.kind.name, field, found.value)
        for field, found in fields.items()
    }
    if json:
        answers = {
            field: {
                "value": values[field],
                "offset": found.offset,
                "timestamp": found.timestamp,
                "type": found.type,
                "origin": origin_json(found.origin),
                "known": found.known,
            }
            for field, found in fields.items()
        }
        print_json({**about, "fields": answers})
        return
    before = f"before {about['history_start']}: not known"
    print_table(
        ("field", "offset", "time", "record", "by", "value"),
        [
            (
                field,
                found.offset if found.known else before,
                time_text(found.timestamp),
                found.type or "-",
                origin_text(found.origin),
                value_text(values[field]),
            )
            for field, found in fields.items()
        ],
    )


def _documents(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: c[name] for name in ("object", "field", "before", "after")} for c in changes]


def _print_changes(changes: list[dict[str, Any]]) -> None:
    for name, of_object in itertools.groupby(changes, key=lambda change: change["object"]):
        print_line(name)
        for line in _lines(list(of_object)):
            print_line(f"    {line}")


def _print_stat(changes: list[dict[str, Any]]) -> None:
    rows = [tuple(row.values()) for row in _stat(changes)]
    if rows:
        print_table(("kind", "new", "gone", "changed", "fields"), rows)


def _stat(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many objects of each kind are new, gone or changed, and in how many fields."""
    found: dict[str, dict[str, Any]] = {}
    for name, of_object in itertools.groupby(changes, key=lambda change: change["object"]):
        fields = list(of_object)
        kind = name.partition(":")[0]
        row = found.setdefault(kind, {"kind": kind, "new": 0, "gone": 0, "changed": 0, "fields": 0})
        row[fields[0]["fate"]] += 1
        row["fields"] += len(fields)
    return list(found.values())


def _place(offset: int) -> str:
    return "the start" if offset < 0 else f"offset {offset}"


def _shown(changes: list[Any], *, show_secrets: bool) -> list[dict[str, Any]]:
    """Return changes as JSON values, by default without secrets."""
    from api.redaction import redact_field, redact_label

    documents = []
    for change in changes:
        kind, _, label = change.object.partition(":")
        before, after = change.before, change.after
        if not show_secrets:
            label = redact_label(kind, label)
            before = redact_field(kind, change.field, before)
            after = redact_field(kind, change.field, after)
        documents.append(
            {
                "object": f"{kind}:{label}",
                "field": change.field,
                "before": before,
                "after": after,
                "fate": change.fate,
            }
        )
    return documents


def _lines(changes: list[dict[str, Any]]) -> list[str]:
    """Return the changes of one object as text; a new or deleted object is one line."""
    fate = changes[0]["fate"]
    if fate != "changed":
        side = "after" if fate == "new" else "before"
        fields = [f"{change['field']}={value_text(change[side])}" for change in changes]
        return [f"{fate}: {' '.join(fields)}"]
    return [
        f"{change['field']}: {value_text(change['before'])} -> {value_text(change['after'])}"
        for change in changes
    ]
