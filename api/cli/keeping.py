"""Making logs and looking at what they are: init, info, demo."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.arguments import Json, Log
from api.cli.main import app
from api.cli.output import (
    bytes_size_text,
    note,
    print_json,
    print_line,
    time_text,
)

if TYPE_CHECKING:
    from pathlib import Path

    from metadata_log.log_reader import LogReader


@app.command()
def init(log: Log, json: Json = False) -> None:
    """Make an empty log with a new cluster id."""
    import secrets

    from metadata_log.creation import create_log
    from records.text import uuid_text

    cluster_id = uuid_text(secrets.token_bytes(16))
    create_log(log, cluster_id)
    if json:
        print_json({"log": str(log), "cluster_id": cluster_id})
    else:
        print_line(f"made {log}, cluster id {cluster_id}")


@app.command()
def info(log: Log, json: Json = False) -> None:
    """Show what a log is: kind, cluster, offsets, epoch, size, writer."""
    from api.cli.reading import open_reader

    with open_reader(log) as reader:
        document = _info(reader)
    if json:
        print_json(document)
        return
    for name, value in document.items():
        shown = bytes_size_text(value) if name == "bytes" else value
        print_line(f"{name.replace('_', ' '):<16}{'-' if shown is None else shown}")


def _info(reader: "LogReader") -> dict[str, Any]:
    from metadata_log.lock import writer_process

    mark = reader.mark
    return {
        "kind": reader.kind.value,
        "cluster_id": reader.cluster_id,
        "start_offset": reader.start_offset,
        "history_start": reader.history_start,
        "log_end": reader.end_offset,
        "confirmed_end": reader.confirmed_end,
        "mark": mark.sequence,
        "leader_epoch": mark.leader_epoch,
        "segments": len(reader.segment_paths),
        "bytes": _size(reader.directory),
        "writer_process": writer_process(reader.directory),
    }


def _size(directory: "Path") -> int:
    return sum(path.stat().st_size for path in directory.iterdir() if path.is_file())


@app.command()
def demo(
    log: Log,
    topics: Annotated[int, typer.Option(help="Topics to begin with.")] = 60,
    brokers: Annotated[int, typer.Option(help="Brokers of the simulated cluster.")] = 6,
    changes: Annotated[int, typer.Option(help="Changes after the cluster is set up.")] = 2_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same log.")] = 1,
    json: Json = False,
) -> None:
    """Write a history made by the real controller over a simulated cluster."""
    import asyncio

    from api.cli.demo_run import write_demo
    from controller.demo.options import DemoOptions

    options = DemoOptions(topics=topics, brokers=brokers, changes=changes, seed=seed).checked()
    made = asyncio.run(write_demo(log, options))
    if json:
        print_json(made)
        return
    print_line(
        f"{log}: {made['log_end']:,} records of a simulated cluster, "
        f"{time_text(made['start_timestamp'])} to {time_text(made['end_timestamp'])}"
    )
    for kind, count in made["changes"].items():
        print_line(f"  {count:>7,} {kind}")
    note(f"look at it: metalog image {log}; metalog dump {log} --to 20")
