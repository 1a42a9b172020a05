"""The `sql sync` command: keeps the history of a log in SQL tables."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET
from msgspec.structs import replace

from api.child import HISTORY_DATABASE
from api.cli.options.parameters import Option
from api.cli.parser.typer_app import App
from api.cli.source.arguments import IncludeUnconfirmed, Json, Log
from api.cli.source.image_view import print_bounds, print_unconfirmed
from api.cli.source.opened_log import about, open_reader
from api.cli.terminal import event_loop
from api.cli.terminal.output import is_read, print_json, print_json_line, print_line
from api.cli.terminal.progress_bar import progress
from metadata_log.files.names import COMMIT_MARK
from records.errors import UnavailableError

if TYPE_CHECKING:
    from api.cli.database.recording_sync import RecordingSynced
    from api.documents.logs import HistorySynced, Place
    from metadata_log.reader.log_reader import LogReader
    from replay.image.metadata import MetadataImage
    from replay.sql_history.store import HistoryStore

# A busy log is followed in steps, each a transaction.
_STEP_S = 1.0

app = App()

Database = Annotated[
    str | None,
    Option(
        "--database",
        metavar="URL",
        help="Database of the tables; default: $METALOG_HISTORY_DATABASE, or if that is not set "
        "sqlite:///LOG/history.db",
    ),
]


@app.command()
def sync(
    log: Log,
    database: Database = None,
    follow: Annotated[
        bool, Option("--follow", help="Continue as the log grows, until stopped.")
    ] = False,
    include_unconfirmed: IncludeUnconfirmed = False,
    json: Json = False,
) -> None:
    """Update the tables with every state of every object, up to the end of the log."""
    from replay.snapshot.database import shown_url
    from replay.sql_history.store import HistoryStore, default_url
    from replay.time_travel.change_index import HISTORY_NAME

    with open_reader(log) as reader:
        database = database or os.environ.get(HISTORY_DATABASE)
        url = database or default_url(reader.directory)
    with HistoryStore.open(url, create=True) as store:
        # Without its password.
        where = shown_url(store.engine.url) if database else str(log / HISTORY_NAME)
        with open_reader(log) as reader:
            with progress("syncing", reader.history_start, reader.confirmed_end) as advance:
                found = _synced(
                    reader, store, advance=advance, include_unconfirmed=include_unconfirmed
                )
            if json:
                (print_json_line if follow else print_json)(*_answer(reader, found))
            else:
                _print(reader, found, where)
        if follow:
            event_loop.run_long(
                _follow(
                    log, store, where, found, json=json, include_unconfirmed=include_unconfirmed
                )
            )


async def _follow(
    log: Path,
    store: "HistoryStore",
    where: str,
    found: "RecordingSynced",
    *,
    json: bool,
    include_unconfirmed: bool,
) -> None:
    """Sync whenever the log has grown, until standard output is closed."""
    from metadata_log.reader.wakeup import watch

    said = ""
    with watch(log.absolute() / COMMIT_MARK) as wakeup:
        while is_read():
            await asyncio.sleep(_STEP_S)
            await wakeup.wait()
            try:
                with open_reader(log) as reader:
                    before, said = found, ""
                    found = _synced(
                        reader, store, found.synced.image, include_unconfirmed=include_unconfirmed
                    )
                    if _ends(found) == _ends(before):
                        continue
                    if json:
                        print_json_line(*_answer(reader, found))
                    else:
                        _print(reader, found, where)
            except UnavailableError as error:
                # The database is down, the log's start moved up, or another process syncs: it
                # passes. Until then the reason is given once.
                if str(error) != said:
                    said = str(error)
                    logging.getLogger(__name__).warning("%s", said)


def _synced(
    reader: "LogReader",
    store: "HistoryStore",
    image: "MetadataImage | None" = None,
    *,
    advance: Callable[[int], None] | None = None,
    include_unconfirmed: bool,
) -> "RecordingSynced":
    from api.cli.database.recording_sync import sync_recording
    from api.questions.parts import opened
    from api.questions.past import Past

    return sync_recording(
        opened(reader, lambda part, before: Past(part, before=before)),
        store,
        advance,
        image=image,
        include_unconfirmed=include_unconfirmed,
    )


def _ends(found: "RecordingSynced") -> tuple[int, int | None]:
    return found.synced.to_offset, found.synced.unconfirmed_to


def _answer(reader: "LogReader", found: "RecordingSynced") -> "tuple[Place, HistorySynced]":
    from api.documents.logs import HistorySynced

    synced = found.synced
    answer = HistorySynced(
        from_=synced.from_offset,
        to=synced.to_offset,
        unconfirmed_to=synced.unconfirmed_to,
        changes=synced.changes,
        rows=synced.rows,
        gaps=found.gaps or UNSET,
    )
    return about(reader, synced.to_offset - 1), answer


def _print(reader: "LogReader", found: "RecordingSynced", where: str) -> None:
    synced = found.synced
    print_line(
        f"{where}: {synced.changes} changes from offset {synced.from_offset} up to "
        f"{synced.to_offset} (exclusive)"
    )
    for table, count in synced.rows.items():
        print_line(f"  {table:<28}{count:>12}")
    _print_bounds(reader, found)
    included = synced.unconfirmed_to
    print_unconfirmed(
        reader, None if included is None else f"up to {included} (exclusive), not confirmed"
    )


def _print_bounds(reader: "LogReader", found: "RecordingSynced") -> None:
    """Print the gaps that were added, and what the tables lack."""
    from api.cli.source.gaps import gap_text
    from api.questions.parts import about_across

    for gap in found.gaps:
        print_line(f"gap: {gap_text(gap)}; what differs after them is in found_after_gap")
    place = replace(
        about(reader, found.synced.to_offset - 1),
        history_start=found.history_start,
    )
    # The tables have what was recorded before the gap, unless they begin after it.
    begins_after_gap = found.synced.from_offset == reader.history_start and not found.gaps
    print_bounds(place if begins_after_gap else about_across(place), found.synced.from_offset)
