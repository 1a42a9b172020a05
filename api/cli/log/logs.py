"""Creates and describes logs: init, info, demo."""

import shlex
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Json, Log, LogOrServer, Server
from api.cli.source.gaps import gap_text
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import log_about, place_of
from api.cli.terminal import event_loop
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import (
    bytes_size_text,
    count_text,
    duration_text,
    note,
    print_json,
    print_line,
    time_text,
)

if TYPE_CHECKING:
    from api.questions.log_info import LogInfo
    from replay.about import About
    from replay.lag import Lag
    from replay.not_understood import UnknownKind


# Smaller differences come from reading the two clocks one after the other.
_AHEAD_MS = 1_000


@command()
def init(
    log: Log,
    release_version: Annotated[
        str | None,
        Option(
            "--release-version",
            metavar="VERSION",
            help="Let brokers of this release of Kafka join, such as 3.9: the log gets its "
            "metadata.version, and no feature that Kafka lacks.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make an empty log with a new cluster id."""
    import secrets

    from api.documents.logs import Made
    from metadata_log.writer.creation import create_log
    from records.text import uuid_text

    cluster_id = uuid_text(secrets.token_bytes(16))
    if release_version is None:
        create_log(log, cluster_id)
    else:
        from api.cli.log.release_log import create_release_log

        create_release_log(log, cluster_id, release_version)
    if json:
        print_json(Made(log=str(log), cluster_id=cluster_id), log_about(log))
    else:
        print_line(f"made {log}, cluster id {cluster_id}")
        print_line(f"next: metalog serve {shlex.quote(str(log))}")
        print_line(f"its brokers: metalog broker --server URL --cluster-id {cluster_id}")


@command()
@reads_only
def info(log: LogOrServer, json: Json = False, server: Server = None) -> None:
    """Show a log's kind, cluster, offsets, epoch, size and writer."""
    from api.questions.log_info import INFO, ShowInfo

    result = log.ask(INFO, ShowInfo())
    about = result.about()
    if json:
        print_json(place_of(about), result.answer)
    else:
        _print_info(result.answer, about)


def _print_info(found: "LogInfo", about: "About") -> None:
    from msgspec import UNSET
    from msgspec.structs import replace

    shown = {
        "kind": found.kind,
        "cluster id": found.cluster_id,
        "start offset": found.start_offset,
        "history start": about.history_start,
        "log end": about.log_end,
        "as of": about.as_of,
        "confirmed end": found.confirmed_end,
        "mark": found.mark,
        "leader epoch": found.leader_epoch,
        "segments": found.segments,
        "bytes": bytes_size_text(found.bytes),
        "writer process": found.writer_process,
        "latest record": _latest_record_text(found),
    }
    for name, value in shown.items():
        print_line(f"{name:<16}{'-' if value is None else value}")
    for name, lag in (("snapshots", found.snapshots), ("SQL history", found.sql_history)):
        if lag is not None:
            print_line(f"{name:<16}{_lag_text(lag)}")
    for kind in found.unknown or ():
        label = "not replayed" if kind.has_table else "not understood"
        print_line(f"{label:<16}{_unknown_text(kind)}")
    for part in found.earlier_parts or ():
        print_line(f"{'earlier part':<16}{part.folder}; after it {gap_text(part.gap)}")
    print_remark(replace(about, gap=UNSET))


def _unknown_text(kind: "UnknownKind") -> str:
    """Return a text such as `2 records: PartitionRecord version 2, tag 300, since offset 7`."""
    first = kind.first_offset
    since = "before the kept history" if first is None else f"offset {first}"
    records = count_text(kind.records, "record")
    return f"{records}: {kind.text}, since {since}"


def _lag_text(lag: "Lag") -> str:
    """Return a text about the progress of snapshots or SQL history.

    It has the last offset that they cover, and their lag behind the log's end.
    """
    reach = f"up to offset {lag.end_offset - 1}"
    if not lag.records:
        return f"{reach}, the log's last"
    behind = f"{reach}, {count_text(lag.records, 'record')}"
    return f"{behind} behind" if lag.ms is None else f"{behind} and {duration_text(lag.ms)} behind"


def _latest_record_text(found: "LogInfo") -> str:
    """Return when the latest record was written, with a hint if the time looks wrong.

    A log without a writer is naturally behind the clock. A log with a writer may be idle, or its
    writer may not have followed a change of the clock.
    """
    shown, difference_ms = time_text(found.latest_timestamp), found.clock_difference_ms
    if difference_ms is None:
        return shown
    if difference_ms >= _AHEAD_MS:
        return f"{shown}, {difference_ms / 1_000:,.0f} s ahead of this machine's clock"
    if found.writer_process is not None and difference_ms <= -_AHEAD_MS:
        return f"{shown}, {-difference_ms / 1_000:,.0f} s behind this machine's clock"
    return shown


@command()
def demo(
    log: Log,
    topics: Annotated[int, Option(help="Number of topics at the start.")] = 60,
    brokers: Annotated[int, Option(help="Number of simulated brokers.")] = 6,
    changes: Annotated[
        int, Option(help="Number of changes after the setup of the cluster.")
    ] = 2_000,
    seed: Annotated[int, Option(help="The same seed gives the same log.")] = 1,
    json: Json = False,
) -> None:
    """Write a generated history: the real controller decides for a simulated cluster."""
    from api.cli.log.demo_run import write_demo
    from controller.demo.options import DemoOptions

    options = DemoOptions(topics=topics, brokers=brokers, changes=changes, seed=seed).checked()
    made = event_loop.run(write_demo(log, options))
    if json:
        print_json(made, log_about(log))
        return
    print_line(
        f"{log}: {made.log_end:,} records of a simulated cluster, "
        f"{time_text(made.start_timestamp)} to {time_text(made.end_timestamp)}"
    )
    for kind, count in made.changes.items():
        print_line(f"  {count:>7,} {kind}")
    note(f"look at it: metalog image {log}; metalog dump {log} --to 20")
