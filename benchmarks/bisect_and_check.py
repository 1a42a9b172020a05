"""Bisecting and checking a log, compared with replaying it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.generated_log import generated_log
from benchmarks.harness import Result, Timed, cpu_seconds, milliseconds
from benchmarks.python_replay import compared
from controller.log_check import check_log
from metadata_log.reader.log_reader import LogReader
from replay.expressions.expression import Expression
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from replay.snapshot.file import SnapshotFile
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline

_RECORDS = 300_000
_ROUNDS = 3
_SNAPSHOTS = 24

_EXPRESSIONS = {
    "a broker": "brokers[1].fenced",
    "a partition": "{topic}.partitions[0].leader == -1",
    "all partitions": "partitions.exists(p, p.leader == -1)",
}
_TARGETS = {"bisect": 1.2, "halving": 0.08, "check": 2.0}


def run(scratch: Path) -> list[Result]:
    """Measure on an own log of generated records in batches of 27; halving uses snapshots."""
    log = generated_log(scratch, _RECORDS)
    with (
        LogReader.open(log) as reader,
        SnapshotStore.open(
            f"sqlite:///{scratch / 'snapshots.db'}", reader.cluster_id, upgrade=True
        ) as store,
    ):
        end = reader.end_offset
        for number in range(1, _SNAPSHOTS):
            create_snapshot(reader, store, number * end // _SNAPSHOTS)
        # Read as the command does.
        file = SnapshotFile(scratch / "snapshots.db", reader.cluster_id)
        return _measured(reader, Timeline(reader, file))


def _measured(reader: LogReader, timeline: Timeline) -> list[Result]:
    end, plain = reader.end_offset, Timeline(reader)
    topic = min(each.name for each in load_image(reader).topics())
    asked: dict[str, Callable[[], object]] = {
        f"bisect over {what}": partial(
            plain.flips, Expression(text.format(topic=f'topics["{topic}"]')), 0, end
        )
        for what, text in _EXPRESSIONS.items()
    }
    grown = Expression(f"size(partitions) > {load_image(reader, end // 2).partition_count}")
    asked["halving over snapshots"] = partial(timeline.only_flip, grown, 0, end)
    for what in ("a broker", "all partitions"):
        expression = Expression(_EXPRESSIONS[what])
        asked[f"halving over {what}"] = partial(timeline.only_flip, expression, 0, end)
    asked["check of all invariants"] = partial(check_log, reader, MetadataImage.EMPTY, end)
    targets = {name: _TARGETS[name.split()[0]] for name in asked}
    results = compared(reader, asked, targets, _ROUNDS)
    return [*results, _steps(plain, topic, end // 2)]


def _steps(timeline: Timeline, topic: str, at: int) -> Result:
    """Compare finding a partition's previous change with finding its next one, from the log's
    middle.
    """
    partition = parse_object(f"partition:{topic}/0")
    timed = Timed([], [])
    for _ in range(_ROUNDS):
        timed.ours.append(cpu_seconds(partial(timeline.change_before, partition, at)))
        timed.peer.append(cpu_seconds(partial(timeline.change_after, partition, at)))
    return Result(
        name="a step back / a step forward",
        ours=milliseconds(timed.ours),
        peer=milliseconds(timed.peer),
        ratio=timed.share,
        target=2.0,
        at_most=True,
    )
