"""The `sql sync` command: keeps the history of a log in SQL tables."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from api.documents.logs import HistorySynced, Place
    from metadata_log.reader.log_reader import LogReader
    from replay.image.metadata import MetadataImage
    from replay.sql_history.store import HistoryStore
    from replay.sql_sync import Synced

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
            event_loop.run(
                _follow(
                    log, store, where, found, json=json, include_unconfirmed=include_unconfirmed
                )
            )


async def _follow(
    log: Path,
    store: "HistoryStore",
    where: str,
    found: "Synced",
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
                        reader, store, found.image, include_unconfirmed=include_unconfirmed
                    )
                    if (found.to_offset, found.unconfirmed_to) == (
                        before.to_offset,
                        before.unconfirmed_to,
                    ):
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
) -> "Synced":
    from replay.sql_sync import sync as sync_store
    from replay.timeline import Timeline

    return sync_store(
        Timeline.of(reader),
        reader,
        store,
        advance,
        image=image,
        include_unconfirmed=include_unconfirmed,
    )


def _answer(reader: "LogReader", found: "Synced") -> "tuple[Place, HistorySynced]":
    from api.documents.logs import HistorySynced

    synced = HistorySynced(
        from_=found.from_offset,
        to=found.to_offset,
        unconfirmed_to=found.unconfirmed_to,
        changes=found.changes,
        rows=found.rows,
    )
    return about(reader, found.to_offset - 1), synced


def _print(reader: "LogReader", found: "Synced", where: str) -> None:
    print_line(
        f"{where}: {found.changes} changes from offset {found.from_offset} up to "
        f"{found.to_offset} (exclusive)"
    )
    for table, count in found.rows.items():
        print_line(f"  {table:<28}{count:>12}")
    print_bounds(about(reader, found.to_offset - 1), found.from_offset)
    included = found.unconfirmed_to
    print_unconfirmed(
        reader, None if included is None else f"up to {included} (exclusive), not confirmed"
    )
