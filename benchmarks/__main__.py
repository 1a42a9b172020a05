"""`make bench`: every ratio in one run, as a table or (`--json`) as one document."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import msgspec

from benchmarks import (
    acl_decisions,
    bisect_and_check,
    cli_start,
    codec,
    controller,
    follower_delay,
    http_append,
    http_reads,
    image_versions,
    in_process,
    kraft_import,
    large_service,
    large_topic,
    log_memory,
    log_open,
    log_size,
    network_recording,
    object_history,
    pauses,
    placement,
    raw_append,
    recorded_runs,
    repeated,
    replay_to_image,
    report_page,
    request_turns,
    snapshot_beside,
    snapshot_layers,
    snapshot_load,
    socket_append,
    socket_serve,
    spark_scan,
    sql_history,
    subscribers,
    what_if,
)
from benchmarks.harness import Result
from benchmarks.nodes import bench as nodes
from benchmarks.nodes import fail_over, held_snapshot

Bench = Callable[[Path], list[Result]]

# Each gets a scratch directory of its own.
BENCHES: dict[str, Bench] = {
    "append": in_process.run,
    "codec": codec.run,
    "socket": socket_append.run,
    "socket-serve": socket_serve.run,
    "http": http_append.run,
    "http-reads": http_reads.run,
    "turns": request_turns.run,
    "subscribers": subscribers.run,
    "size": log_size.run,
    "open": log_open.run,
    "memory": log_memory.run,
    "replay": replay_to_image.run,
    "import": kraft_import.run,
    "network": network_recording.run,
    "snapshot": snapshot_load.run,
    "history": object_history.run,
    "proving": bisect_and_check.run,
    "versions": image_versions.run,
    "what-if": what_if.run,
    "sql-history": sql_history.run,
    "follow": follower_delay.run,
    "cli": cli_start.run,
    "controller": controller.run,
    "large-topic": large_topic.run,
    "large-service": large_service.run,
    "pauses": pauses.run,
    "acls": acl_decisions.run,
    "placement": placement.run,
    "raw-append": raw_append.run,
    "repeated": repeated.run,
    "report": report_page.run,
    "snapshot-beside": snapshot_beside.run,
    "snapshot-layers": snapshot_layers.run,
    "nodes": nodes.run,
    "fail-over": fail_over.run,
    "spark": spark_scan.run,
}


def main() -> int:
    """Run the named benchmarks, or all; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHES], default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--record", action="store_true", help="keep the results as benchmarks/runs/DATE.json"
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where the scratch files go: a disk, for memory syncs in no time (default: here)",
    )
    parser.add_argument(
        "--partitions",
        type=int,
        metavar="N",
        help=f"of large-service (default: {large_service.PARTITIONS:,}), pauses (default: "
        f"{pauses.PARTITIONS:,}) and fail-over (default: 0), at least 10,000",
    )
    parser.add_argument(
        "--snapshot-seconds",
        type=float,
        default=held_snapshot.SECONDS,
        metavar="S",
        help=f"how long nodes holds a snapshot (default: {held_snapshot.SECONDS:.0f})",
    )
    arguments = parser.parse_args()
    benches: dict[str, Bench] = {
        **BENCHES,
        "large-service": partial(
            large_service.run, partitions=arguments.partitions or large_service.PARTITIONS
        ),
        "pauses": partial(pauses.run, partitions=arguments.partitions or pauses.PARTITIONS),
        "nodes": partial(nodes.run, snapshot_seconds=arguments.snapshot_seconds),
        "fail-over": partial(fail_over.run, partitions=arguments.partitions or 0),
    }
    arguments.directory.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for name in arguments.names or BENCHES:
        print(f"{name} ...", file=sys.stderr)
        with tempfile.TemporaryDirectory(
            prefix="metalog-bench-", dir=arguments.directory.absolute()
        ) as scratch:
            results += benches[name](Path(scratch))
    if arguments.json:
        print(json.dumps([{**msgspec.to_builtins(r), "met": r.met} for r in results], indent=2))
    else:
        _print_table(results)
    _print_worse(results)
    if arguments.record:
        recorded_runs.record(recorded_runs.RUNS / f"{date.today()}.json", results)
    return int(any(result.met is False for result in results))


def _print_table(results: list[Result]) -> None:
    print(f"{'what':<58} {'ours':>14} {'peer':>14} {'ratio':>7}  target")
    for result in results:
        sign = "<=" if result.at_most else ">="
        target = "" if result.target is None else f"{sign} {result.target:g}"
        verdict = {True: "met", False: "MISSED", None: ""}[result.met]
        ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
        line = f"{result.name:<58} {result.ours:>14} {result.peer:>14} {ratio:>7}"
        print(f"{line}  {target} {verdict}".rstrip())


def _print_worse(results: list[Result]) -> None:
    before = recorded_runs.newest()
    if before is None:
        return
    for each in recorded_runs.worse_than(before, results):
        text = f"worse than on {before.stem}: {each.name}: {each.before:.2f} -> {each.now:.2f}"
        print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
