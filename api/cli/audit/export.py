"""The `audit export` command, which uses Spark."""

from pathlib import Path

from api.cli.audit.session import spark_and_files
from api.cli.source.image_view import print_bounds, print_unconfirmed
from api.cli.source.opened_log import about, open_reader
from api.cli.terminal.output import print_json, print_line
from api.documents.audits import ChangesExported
from replay.audit.export import export_changes


def export(
    log: Path | str, to: str, *, show_secrets: bool, include_unconfirmed: bool, as_json: bool
) -> None:
    """Export those changes of a log that are not at the location `to` yet, and print a summary."""
    with open_reader(log) as reader:
        done = export_changes(
            reader,
            to,
            lambda: spark_and_files(reader),
            show_secrets=show_secrets,
            include_unconfirmed=include_unconfirmed,
        )
        place = about(reader, done.to_offset - 1)
    if as_json:
        exported = ChangesExported(
            from_=done.from_offset,
            to=done.to_offset,
            files=done.files,
            rows=done.rows,
            unconfirmed_rows=done.unconfirmed_rows,
        )
        print_json(place, exported)
        return
    print_line(
        f"{to}: {done.rows} changes in {done.files} files, from offset {done.from_offset} up to "
        f"{done.to_offset} (exclusive)"
    )
    print_bounds(place, done.from_offset)
    print_unconfirmed(
        reader,
        f"{done.unconfirmed_rows} more changes, not confirmed" if include_unconfirmed else None,
    )
