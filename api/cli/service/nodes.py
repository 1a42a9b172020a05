"""The `nodes` commands: processes that share a log in PostgreSQL or in a bucket."""

from pathlib import Path
from typing import Annotated

from api.cli.app import app, need_command
from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.source.arguments import Json
from api.cli.terminal.output import print_json, print_line
from api.cli.terminal.progress_bar import progress

nodes = App(
    name="nodes",
    help="Share a log between several nodes, of which one leads.",
    invoke_without_command=True,
    callback=need_command,
)
app.add_typer(nodes)

_Store = Annotated[
    str,
    Argument(
        metavar="URL",
        help="The shared log: postgresql://USER@HOST/DB or s3://bucket/prefix.",
        show_default=False,
    ),
]


@nodes.command()
def create(
    store: _Store,
    source: Annotated[
        Path, Option("--from", metavar="LOG", help="The log whose records it begins with.")
    ],
    json: Json = False,
) -> None:
    """Make a shared log with all records of a log, which becomes the folder of a node."""
    import asyncio

    from api.documents.nodes import SharedLogCreated
    from api.nodes.stores import create_shared_log
    from metadata_log.writer.cut_off_log import seen_end
    from replay.snapshot.database import shown_url

    end_offset = seen_end(source).mark.end_offset
    with progress("uploading", 0, end_offset) as advance:
        identity, end = asyncio.run(create_shared_log(store, source, advance))
    created = SharedLogCreated(
        shared=shown_url(store),
        log_id=identity.log_id,
        cluster_id=identity.cluster_id,
        log_end=end.end_offset,
    )
    if json:
        print_json(created)
        return
    print_line(f"{created.shared}: the log of cluster {created.cluster_id} up to {created.log_end}")
    print_line("From now on only nodes write to it, such as:")
    print_line(f"  metalog serve {source} --shared {created.shared} --node 1")


@nodes.command("list")
def list_(store: _Store, json: Json = False) -> None:
    """List who leads a shared log, and where it ends."""
    import asyncio

    from api.nodes.stores import look

    found = asyncio.run(look(store))
    if json:
        print_json(found)
        return
    print_line(f"cluster {found.cluster_id}, epoch {found.leader_epoch}, log end {found.log_end}")
    for each in found.nodes:
        role = "leads" if each.role == "leader" else "has stopped; it led last"
        where = "".join(f", {name} {address}" for name, address in each.addresses.items())
        print_line(f"node {each.node} {role}{where}")
