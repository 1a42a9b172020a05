"""SQL snapshots: create, list, show, prune."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.source.arguments import OFFSET_MAX, At, Json, Log
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import about, offset_of, open_reader
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    fields_of,
    print_json,
    print_line,
    print_table,
    time_text,
    value_text,
)
from api.cli.terminal.progress_bar import progress
from api.documents.care import Pruned, Snapshot, Snapshots

if TYPE_CHECKING:
    from sqlalchemy import URL

    from metadata_log.reader.log_reader import LogReader
    from replay.snapshot.store import SnapshotStore

app = App()

Database = Annotated[
    str | None,
    Option(
        "--database",
        metavar="URL",
        help="Database of the snapshots; default: sqlite:///LOG/snapshots.db",
    ),
]
EndOffset = Annotated[
    int,
    Argument(
        metavar="END_OFFSET",
        help="End offset of the snapshot, as shown by `list`.",
        min=0,
        max=OFFSET_MAX,
        show_default=False,
    ),
]


@contextmanager
def _opened(
    log: Path, database: str | None, *, upgrade: bool = False
) -> "Iterator[tuple[LogReader, SnapshotStore]]":
    from replay.snapshot.store import SnapshotStore

    with open_reader(log) as reader:
        url = _own_database(reader) if database is None else database
        with SnapshotStore.open(url, reader.cluster_id, upgrade=upgrade) as store:
            yield reader, store


@contextmanager
def _opened_or_none(
    log: Path, database: str | None
) -> "Iterator[tuple[LogReader, SnapshotStore | None]]":
    """Yield the log and its snapshot store, which is None if the log has no database yet."""
    with open_reader(log) as reader:
        path = _own_database(reader).database
        if database is None and path is not None and not Path(path).exists():
            yield reader, None
            return
    with _opened(log, database) as opened:
        yield opened


def _own_database(reader: "LogReader") -> "URL":
    """Return the URL of the database beside a log."""
    from replay.snapshot.database import default_url

    return default_url(reader.directory)


@app.command()
def create(
    log: Log,
    at: At = "end",
    rotate: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            max=OFFSET_MAX,
            help="Keep only the newest N of the snapshots that were made with --rotate.",
        ),
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Store the image at a point in SQL."""
    from replay.snapshot_lifecycle import create_snapshot, prune_snapshots

    with _opened(log, database, upgrade=True) as (reader, store):
        offset = offset_of(reader, at)
        with progress("replaying", reader.history_start, offset + 1) as advance:
            found = create_snapshot(
                reader, store, offset, rotated=rotate is not None, progress=advance
            )
        if rotate is not None:
            prune_snapshots(reader, store, rotate, rotated_only=True)
        end = about(reader, offset)
        batch_end = next(iter(reader.batches(offset))).end_offset if found.mid_batch else None
    if json:
        print_json(end, Snapshot.of(found))
    else:
        print_line(f"snapshot of the image as of offset {found.end_offset - 1}")
        print_line(f"  digest {found.digest}")
        if batch_end is not None:
            print_line(
                "  inside a batch: `outages` does not start from it; "
                f"--at {batch_end - 1} is the batch's end"
            )
        print_remark(end)


@app.command("list")
@reads_only
def list_(log: Log, database: Database = None, json: Json = False) -> None:
    """List the snapshots of a log, oldest first."""

    with _opened_or_none(log, database) as (reader, store):
        found = [] if store is None else store.list()
        end = about(reader)
    if json:
        listed = Snapshots(snapshots=tuple(map(Snapshot.of, found)))
        print_json(end, listed)
        return
    print_table(
        ("end offset", "epoch", "time", "confirmed", "made", "digest"),
        [
            (
                info.end_offset,
                info.leader_epoch,
                time_text(info.timestamp_ms),
                "yes" if info.confirmed else "no",
                time_text(info.created_at_ms),
                info.digest,
            )
            for info in found
        ],
    )
    print_remark(end)


@app.command()
@reads_only
def show(log: Log, end_offset: EndOffset, database: Database = None, json: Json = False) -> None:
    """Load one snapshot, check its digest, and show its position and contents."""

    with _opened(log, database) as (reader, store):
        found = store.verify(end_offset)
        place, shown = about(reader, found.end_offset - 1), Snapshot.of(found)
    if json:
        print_json(place, shown)
        return
    for name, value in fields_of(place, shown).items():
        if name not in ("not_understood", "not_counted"):
            print_line(f"{name.replace('_', ' '):<16}{value_text(value)}")
    print_remark(place)


@app.command()
def prune(
    log: Log,
    keep: Annotated[
        int, Option(min=0, max=OFFSET_MAX, help="Number of snapshots to keep, the newest ones.")
    ] = 10,
    database: Database = None,
    json: Json = False,
) -> None:
    """Delete old snapshots, and the chunks that no other snapshot needs."""
    from replay.snapshot_lifecycle import prune_snapshots

    with _opened_or_none(log, database) as (reader, store):
        deleted = 0 if store is None else prune_snapshots(reader, store, keep)
        left = 0 if store is None else len(store.list())
        end = about(reader)
    if json:
        print_json(end, Pruned(deleted=deleted, left=left))
    else:
        print_line(f"deleted {deleted}, {left} left")
        print_remark(end)
