"""The `nodes` commands: processes that share a log in PostgreSQL or in a bucket."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.source.arguments import Json, Server
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source
from api.cli.terminal import event_loop
from api.cli.terminal.output import bytes_size_text, print_json, print_line, print_table
from api.cli.terminal.progress_bar import progress
from api.documents.nodes import SharedLogCreated
from records.errors import RequestError
from records.text import duration_text

if TYPE_CHECKING:
    from api.documents.logs import Place
    from api.questions.nodes import SharedLogState

app = App()

_Store = Annotated[
    str,
    Argument(
        metavar="URL|LOG",
        help="The shared log: postgresql://USER@HOST/DB, s3://bucket/prefix, or a node's folder.",
        show_default=False,
    ),
]

_Url = Annotated[
    str,
    Argument(
        metavar="URL",
        help="The shared log: postgresql://USER@HOST/DB or s3://bucket/prefix.",
        show_default=False,
    ),
]

_Node = Annotated[int, Argument(metavar="ID", help="Id of the node, as for `serve --node`.", min=0)]


@app.command()
def create(
    store: _Url,
    source: Annotated[
        Path,
        Option(
            "--from",
            metavar="LOG",
            help="The log whose records become the beginning of the shared log.",
        ),
    ],
    json: Json = False,
) -> None:
    """Make a shared log with all records of LOG, and make LOG the folder of a node.

    New nodes start from the checkpoint that LOG starts from, if it has one, as after `fork`.
    """
    from api.nodes.stores import create_shared_log, upload_size
    from replay.snapshot.database import shown_url

    size = upload_size(source)
    with progress("uploading", 0, size) as advance:

        def uploaded(sent: int) -> None:
            if sent == 0 and not json:
                print_line(f"{source}: {bytes_size_text(size)} to upload")
            advance(sent)

        identity, end = event_loop.run(create_shared_log(store, source, uploaded))
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


@app.command("list")
def list_(
    log: Annotated[
        Source,
        Argument(
            metavar="URL|LOG",
            help="The shared log: postgresql://USER@HOST/DB, s3://bucket/prefix, or a node's "
            "folder; default: $METALOG_LOG. Do not combine URL|LOG with --server.",
            show_default=False,
            parser=Source.parse,
        ),
    ],
    json: Json = False,
    server: Server = None,
) -> None:
    """List the nodes of a shared log: who leads, who stands by, and how far each is.

    With --server, the node at URL reads the store, so that you need no access to the store.
    """
    from api.nodes.operations import look
    from api.nodes.stores import url_of

    url = None if log.log is None else url_of(str(log.log))
    if url is not None:
        _print(event_loop.run(look(url)), json)
        return
    from api.questions.nodes import NODES, ListNodes

    found = log.ask(NODES, ListNodes())
    _print(found.answer, json, place_of(found.about()))


@app.command()
def lead(store: _Store, node: _Node, json: Json = False) -> None:
    """Let the leader hand over to another node, and wait until that node leads."""
    from api.nodes.operations import change_leader
    from api.nodes.stores import shared_url

    _print(event_loop.run(change_leader(shared_url(store), node)), json)


@app.command()
def remove(store: _Store, node: _Node, json: Json = False) -> None:
    """Forget a node that has stopped for good; its folder stays."""
    from api.nodes.operations import look, remove_node
    from api.nodes.stores import shared_url

    url = shared_url(store)
    event_loop.run(remove_node(url, node))
    _print(event_loop.run(look(url)), json)


@app.command()
def repair(
    log: Annotated[Path, Argument(metavar="LOG", help="The folder of a node.", show_default=False)],
    store: Annotated[
        str, Option("--shared", metavar="URL", help="The shared log.", show_default=False)
    ],
    put_back: Annotated[
        bool,
        Option(
            "--put-back",
            help="Restore the shared log's lost records, unchanged, from LOG.",
        ),
    ] = False,
    give_up: Annotated[
        str | None,
        Option(
            "--give-up",
            metavar="COPY",
            help="Back LOG up to COPY, then give the lost records up: those at the end are removed "
            "from LOG; for those in the middle, the shared log is trimmed up to them.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Compare a node's folder with a shared log that lost records; restore them or give them up.

    Without --put-back and --give-up nothing is changed; exit 1 if LOG has records that the shared
    log lacks, or if groups of batches in the middle of the shared log are lost. Stop all nodes
    first, except when groups in the middle are lost.
    """
    from api.cli.service.nodes_repair import repaired

    if put_back and give_up is not None:
        raise RequestError("INVALID_REQUEST", "--put-back and --give-up: choose one")
    return repaired(log, store, is_put_back=put_back, copy=give_up, json=json)


def _print(found: "SharedLogState", json: bool, place: "Place | None" = None) -> None:
    from api.nodes.fitness import Unfit

    if json:
        print_json(*([] if place is None else [place]), found)
        return
    if found.log_id is None:
        print_line(f"cluster {found.cluster_id}, log end {found.log_end}: no nodes share this log")
        return
    print_line(f"cluster {found.cluster_id}, epoch {found.leader_epoch}, log end {found.log_end}")
    print_table(
        ("node", "role", "behind", "seen", "clock", "release", "addresses"),
        [
            (
                *(each.node, each.role, each.behind, f"{_seconds_text(each.seen_ms)} ago"),
                *(_clock_text(each.clock_off_ms), each.version),
                " ".join(f"{name}={address}" for name, address in each.addresses.items()),
            )
            for each in found.nodes
        ],
    )
    print_line(_kept_text(found))
    for each in found.nodes:
        unfit = Unfit(
            not_understood=each.not_understood,
            other_settings=each.other_settings,
            requests_from=each.requests_from,
        )
        if unfit.text:
            print_line(f"node {each.node} {unfit.text}")
        if each.lost_from is not None:
            print_line(
                f"node {each.node} has records {each.lost_from} to {each.log_end - 1}, which the "
                "shared log has lost; on its machine: `metalog nodes repair LOG --shared URL`"
            )
    if found.lost is not None:
        print_line("no node runs: the store has lost records")


def _kept_text(found: "SharedLogState") -> str:
    """Return how much the store keeps, and what prevents trimming more."""
    kept = f"the store keeps {bytes_size_text(found.kept_bytes)}, from offset {found.kept_from} on"
    if found.archived_end is None:
        return f"{kept}: no node archives the log (`serve --archive`), so nothing is trimmed"
    if found.held_by is not None:
        return f"{kept}; node {found.held_by} does not run: nothing that it lacks is trimmed"
    return f"{kept}; archived up to {found.archived_end}"


def _clock_text(off_ms: int) -> str:
    """Return how far a clock is ahead or behind; empty if by less than a second."""
    if abs(off_ms) < 1_000:
        return ""
    return _seconds_text(abs(off_ms)) + (" ahead" if off_ms > 0 else " behind")


def _seconds_text(duration_ms: int) -> str:
    return duration_text(duration_ms // 1_000 * 1_000)
