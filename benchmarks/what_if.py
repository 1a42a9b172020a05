"""Cost of a what-if near the end of a long log, compared with replaying the log.

The what-if drops one decision of the past and repeats all later ones.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from api.requests.commands import RECORDED
from benchmarks.generated_log import generated_log
from benchmarks.harness import Result, cpu_seconds
from benchmarks.python_replay import PEER, collecting_seldom, replay_seconds
from controller.asked.asked import BoundDecision
from controller.decisions.context.context import Settings
from controller.forks.changes import Changes
from controller.forks.fork import Fork
from controller.forks.recorded import settings_before
from metadata_log.reader.log_reader import LogReader
from replay.snapshot.file import SnapshotFile
from replay.snapshot.store import SnapshotStore
from replay.snapshot_lifecycle import create_snapshot
from replay.time_travel.diff import diff_images
from replay.timeline import Timeline

_RECORDS = 1_000_000
_TAILS = (50_000, 10_000)
_TARGET = 1.3


def run(scratch: Path) -> list[Result]:
    """Measure on an own log that does not store the requests, so that triggers are inferred."""
    log = generated_log(scratch, _RECORDS)
    database = scratch / "snapshots.db"
    with LogReader.open(log) as reader:
        with SnapshotStore.open(f"sqlite:///{database}", reader.cluster_id, upgrade=True) as store:
            for tail in _TAILS:
                create_snapshot(reader, store, _start(reader, tail) - 1)
        timelines = {
            "without snapshots": Timeline(reader),
            "with snapshots": Timeline(reader, SnapshotFile(database, reader.cluster_id)),
        }
        with collecting_seldom():
            replay = replay_seconds(reader)
            return [
                _result(f"what-if of the last {tail:,}, {how}", reader, timeline, tail, replay)
                for tail in _TAILS
                for how, timeline in timelines.items()
            ]


def _result(name: str, reader: LogReader, timeline: Timeline, tail: int, replay_s: float) -> Result:
    start = _start(reader, tail)
    with _timed_decisions() as decisions:
        whole_s = cpu_seconds(partial(_decide_anew, reader, timeline, start))
    return Result(
        name=f"{name}, besides the decisions / {PEER}",
        ours=f"{whole_s - decisions.seconds:,.1f} s",
        peer=f"{replay_s:,.1f} s",
        ratio=(whole_s - decisions.seconds) / replay_s,
        target=_TARGET,
        at_most=True,
    )


def _start(reader: LogReader, tail: int) -> int:
    """Return the base offset of the batch that contains the first of the last `tail` offsets."""
    return next(iter(reader.batches(reader.end_offset - tail))).base_offset


def _decide_anew(reader: LogReader, timeline: Timeline, start: int) -> None:
    """Drop the decision that wrote offset `start`, repeat all later ones, and compare the
    outcomes.
    """
    image = timeline.image(start - 1)
    settings = settings_before(reader, start) or Settings(
        cluster_id=reader.cluster_id, accepts_unknown_configs=True
    )
    fork = Fork(image, start, Changes(drop=frozenset({start})), RECORDED, settings)
    for _ in fork.steps(reader.batches(start)):
        pass
    assert fork.changed, "one record was dropped"
    diff_images(fork.past.image, fork.state.image)
    fork.comparison.all_partings()


class _Decisions:
    """Total processor time of the decisions taken, in seconds."""

    seconds = 0.0


@contextmanager
def _timed_decisions() -> Iterator[_Decisions]:
    found, decide = _Decisions(), BoundDecision.__call__

    def timed(bound: BoundDecision[Any], context: Any) -> Any:
        start = time.process_time()
        try:
            return decide(bound, context)
        finally:
            found.seconds += time.process_time() - start

    with mock.patch.object(BoundDecision, "__call__", timed):
        yield found
