"""History in SQL: sync."""

from typing import Annotated

import typer

from api.cli.app import app, need_command
from api.cli.arguments import Json, Log
from api.cli.output import print_json, print_line, progress
from api.cli.typer_app import App

sql = App(
    name="sql",
    help="Keep the history in SQL tables.",
    invoke_without_command=True,
    callback=need_command,
)
app.add_typer(sql)

Database = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="Default: sqlite:///LOG/history.db")
]


@sql.command()
def sync(log: Log, database: Database = None, json: Json = False) -> None:
    """Bring the tables up to the end of the log: every state that every object had."""
    from api.cli.reading import about, open_reader
    from replay.snapshot.database import shown_url
    from replay.sql_history.store import HistoryStore, default_url
    from replay.sql_history.sync import sync as sync_store
    from replay.sql_history.sync import unconfirmed_text
    from replay.time_travel.change_index import HISTORY_NAME
    from replay.timeline import Timeline

    with open_reader(log) as reader:
        url = database or default_url(reader.directory)
        with (
            HistoryStore.open(url, create=True) as store,
            progress("syncing", reader.history_start, reader.confirmed_end) as advance,
        ):
            found = sync_store(Timeline.of(reader), reader, store, advance)
        document = {
            **about(reader, found.to_offset - 1),
            "from": found.from_offset,
            "to": found.to_offset,
            "changes": found.changes,
            "rows": found.rows,
        }
        left_out = reader.end_offset - max(reader.confirmed_end, found.to_offset)
        why = unconfirmed_text(reader) if left_out > 0 else None
        # Without its password.
        where = shown_url(store.engine.url) if database else log / HISTORY_NAME
    if json:
        print_json(document)
        return
    print_line(
        f"{where}: {found.changes} changes from offset {found.from_offset} up to "
        f"{found.to_offset} (exclusive)"
    )
    for table, count in found.rows.items():
        print_line(f"  {table:<28}{count:>12}")
    if why is not None:
        print_line(f"left out: {why}")
