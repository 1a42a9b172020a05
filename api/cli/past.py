"""Questions about the past: history, diff, blame."""

import itertools
from typing import Annotated, Any

import typer

from api.cli.arguments import At, Json, Log, ObjectText, ShowSecrets
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


@app.command()
def history(
    log: Log,
    object_: ObjectText,
    json: Json = False,
    show_secrets: ShowSecrets = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --json: a last line about the log.")
    ] = False,
) -> None:
    """Show every change of one object, oldest first."""
    from api.cli.reading import bounds, open_reader
    from api.cli.rows import origin_json, origin_text
    from replay.time_travel.history import history as changes_of
    from replay.time_travel.objects import parse_object

    name = parse_object(object_)
    found = 0
    with open_reader(log) as reader:
        with progress("reading", reader.history_start, reader.end_offset) as advance:
            for event in changes_of(reader, name, progress=advance):
                found += 1
                changes = _shown(event.changes, show_secrets=show_secrets)
                if json:
                    print_json_line(
                        {
                            "offset": event.row.offset,
                            "timestamp": event.row.timestamp,
                            "type": type(event.row.payload).__name__,
                            "origin": origin_json(event.row.origin),
                            "changes": [
                                {"field": c["field"], "before": c["before"], "after": c["after"]}
                                for c in changes
                            ],
                        }
                    )
                else:
                    print_line(
                        f"{event.row.offset:>8} {time_text(event.row.timestamp)} "
                        f"{type(event.row.payload).__name__}  by {origin_text(event.row.origin)}"
                    )
                    for line in _lines(changes):
                        print_line(f"{'':>10}{line}")
        if json and verbose:
            print_json_line({"end": {"as_of": reader.end_offset - 1, **bounds(reader)}})
        if not found:
            note(
                f"{object_} did not change between offsets {reader.history_start} and "
                f"{reader.end_offset - 1}"
            )


@app.command()
def diff(
    log: Log,
    before: Annotated[str, typer.Argument(metavar="P1", help="The earlier point.")],
    after: Annotated[str, typer.Argument(metavar="P2", help="The later point.")],
    object_: Annotated[
        str | None, typer.Option("--object", metavar="OBJECT", help="Only this object.")
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when there are differences.")
    ] = False,
    json: Json = False,
    show_secrets: ShowSecrets = False,
) -> int:
    """Show what differs between two points."""
    from api.cli.reading import bounds, image_at, offset_of, open_reader
    from replay.loader import load_image
    from replay.time_travel.diff import diff_images
    from replay.time_travel.objects import parse_object

    only = parse_object(object_) if object_ is not None else None
    with open_reader(log) as reader:
        first, second = offset_of(reader, before), offset_of(reader, after)
        old = image_at(reader, min(first, second))
        # Going on from the first image shares all that did not change.
        new = load_image(reader, max(first, second), start=old)
        if first > second:
            old, new = new, old
        changes = _shown(diff_images(old, new, only), show_secrets=show_secrets)
        about = {"from": first, "as_of": second, **bounds(reader)}
    if json:
        print_json({**about, "changes": changes})
    else:
        found = count_text(len(changes), "difference")
        print_line(f"{found} between offsets {first} and {second}")
        for name, of_object in itertools.groupby(changes, key=lambda change: change["object"]):
            print_line(name)
            for line in _lines(list(of_object)):
                print_line(f"    {line}")
    return FOUND if exit_code and changes else 0


@app.command()
def blame(
    log: Log,
    object_: ObjectText,
    at: At = "end",
    json: Json = False,
    show_secrets: ShowSecrets = False,
) -> None:
    """Show for each field of an object which record last set it, and who caused that."""
    from api.cli.reading import bounds, offset_of, open_reader
    from api.cli.rows import origin_json, origin_text
    from api.redaction import redact_field
    from replay.time_travel.history import blame as blame_of
    from replay.time_travel.objects import parse_object

    name = parse_object(object_)
    with open_reader(log) as reader:
        offset = offset_of(reader, at)
        with progress("reading", reader.history_start, offset + 1) as advance:
            fields = blame_of(reader, name, offset, advance)
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


def _shown(changes: list[Any], *, show_secrets: bool) -> list[dict[str, Any]]:
    """Return changes as JSON values, without secrets unless they are asked for."""
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
            {"object": f"{kind}:{label}", "field": change.field, "before": before, "after": after}
        )
    return documents


def _lines(changes: list[dict[str, Any]]) -> list[str]:
    """Return the changes of one object as text; a whole object coming or going is one line."""
    if all(change["before"] is None for change in changes):
        fields = [f"{change['field']}={value_text(change['after'])}" for change in changes]
        return [f"new: {' '.join(fields)}"]
    if all(change["after"] is None for change in changes):
        fields = [f"{change['field']}={value_text(change['before'])}" for change in changes]
        return [f"gone: {' '.join(fields)}"]
    return [
        f"{change['field']}: {value_text(change['before'])} -> {value_text(change['after'])}"
        for change in changes
    ]
