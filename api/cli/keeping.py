"""Creates and shows logs: init, info, demo."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.arguments import Json, Log, LogPlace
from api.cli.main import app
from api.cli.output import (
    bytes_size_text,
    note,
    print_json,
    print_line,
    time_text,
)

if TYPE_CHECKING:
    from metadata_log.log_reader import LogReader


# Smaller differences come from reading the two clocks one after the other.
_AHEAD_MS = 1_000


@app.command()
def init(log: Log, json: Json = False) -> None:
    """Make an empty log with a new cluster id."""
    import secrets

    from api.cli.reading import log_about
    from metadata_log.creation import create_log
    from records.text import uuid_text

    cluster_id = uuid_text(secrets.token_bytes(16))
    create_log(log, cluster_id)
    if json:
        print_json({"log": str(log), "cluster_id": cluster_id, **log_about(log)})
    else:
        print_line(f"made {log}, cluster id {cluster_id}")


@app.command()
def info(log: LogPlace, json: Json = False) -> None:
    """Show what a log is: kind, cluster, offsets, epoch, size, writer."""
    from api.cli.reading import open_reader

    with open_reader(log) as reader:
        document = _info(reader)
    if json:
        print_json(document)
        return
    document["bytes"] = bytes_size_text(document["bytes"])
    document["latest_record"] = _latest_record_text(document)
    del document["latest_timestamp"], document["clock_difference_ms"]
    for name, value in document.items():
        print_line(f"{name.replace('_', ' '):<16}{'-' if value is None else value}")


def _info(reader: "LogReader") -> dict[str, Any]:
    from metadata_log.clock import SystemClock
    from metadata_log.lock import writer_process

    mark, directory = reader.mark, reader.local_directory
    latest = mark.max_timestamp or None
    return {
        "kind": reader.kind.value,
        "cluster_id": reader.cluster_id,
        "start_offset": reader.start_offset,
        "history_start": reader.history_start,
        "log_end": reader.end_offset,
        "as_of": reader.end_offset - 1,
        "confirmed_end": reader.confirmed_end,
        "mark": mark.sequence,
        "leader_epoch": mark.leader_epoch,
        "segments": len(reader.segment_paths),
        "bytes": reader.size_bytes(),
        "writer_process": writer_process(directory) if directory else None,
        "latest_timestamp": latest,
        # Negative when the clock is ahead, as after any pause.
        "clock_difference_ms": None if latest is None else latest - SystemClock().now_ms(),
    }


def _latest_record_text(document: dict[str, Any]) -> str:
    """Return when the latest record was written, with a hint if the time looks wrong.

    A log without a writer is naturally behind the clock. A log with one may be idle, or its writer
    does not follow a clock that was set.
    """
    latest, difference_ms = document["latest_timestamp"], document["clock_difference_ms"]
    shown = time_text(latest)
    if latest is None:
        return shown
    if difference_ms >= _AHEAD_MS:
        return f"{shown}, {difference_ms / 1_000:,.0f} s ahead of this machine's clock"
    if document["writer_process"] is not None and difference_ms <= -_AHEAD_MS:
        return f"{shown}, {-difference_ms / 1_000:,.0f} s behind this machine's clock"
    return shown


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
    from api.cli.reading import log_about
    from controller.demo.options import DemoOptions

    options = DemoOptions(topics=topics, brokers=brokers, changes=changes, seed=seed).checked()
    made = asyncio.run(write_demo(log, options))
    if json:
        print_json({**made, **log_about(log)})
        return
    print_line(
        f"{log}: {made['log_end']:,} records of a simulated cluster, "
        f"{time_text(made['start_timestamp'])} to {time_text(made['end_timestamp'])}"
    )
    for kind, count in made["changes"].items():
        print_line(f"  {count:>7,} {kind}")
    note(f"look at it: metalog image {log}; metalog dump {log} --to 20")
