"""History and blame of one object, against replaying the whole log."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.cluster_history import history as cluster_history
from benchmarks.harness import Result, milliseconds, time_in_turn
from benchmarks.own_log import CLUSTER_ID
from metadata_log.batch import NewBatch
from metadata_log.creation import create_log
from metadata_log.log import MetadataLog
from metadata_log.log_reader import LogReader
from replay.loader import load_image
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline

_SEED = 20_261_121
# A log of users' commands holds about so many records a batch.
_BATCH_RECORDS = 27
_APPENDS_AT_ONCE = 256
_PARTITION_TARGET, _BROKER_TARGET = 0.1, 1.1


def run(scratch: Path) -> list[Result]:
    """Measure on own logs of generated records, in batches of 27."""
    small = _measured(scratch, 300_000, ("partition", "broker"), rounds=3)
    # A replay takes 20 seconds.
    return small + _measured(scratch, 1_500_000, ("partition",), rounds=1)


def _measured(scratch: Path, records: int, kinds: Sequence[str], rounds: int) -> list[Result]:
    log = scratch / f"own-{records}"
    asyncio.run(write_log(log, records))
    results = []
    with LogReader.open(log) as reader:
        timeline, at = Timeline(reader), reader.end_offset - 1
        topic = min(load_image(reader).topics(), key=lambda each: each.name)
        names = {"partition": f"partition:{topic.name}/0", "broker": "broker:1"}
        for kind in kinds:
            name = parse_object(names[kind])
            asked: dict[str, Callable[[], object]] = {
                "history": lambda name=name: list(timeline.history(name)),  # type: ignore[misc]
                "blame": lambda name=name: timeline.blame(name, at),  # type: ignore[misc]
            }
            for what, ask in asked.items():
                timed = time_in_turn(
                    ask, lambda: load_image(reader), rounds=rounds, warmups=int(rounds > 1)
                )
                results.append(
                    Result(
                        name=f"{what} of a {kind} / full replay of {records:,}",
                        ours=milliseconds(timed.ours),
                        peer=milliseconds(timed.peer),
                        ratio=timed.share,
                        target=_PARTITION_TARGET if kind == "partition" else _BROKER_TARGET,
                        at_most=True,
                    )
                )
    return results


async def write_log(directory: Path, count: int) -> None:
    """Make an own log of generated records."""
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory)
    records = itertools.chain.from_iterable(
        batch.records for batch in cluster_history(count, _SEED)
    )
    while group := list(itertools.islice(records, _BATCH_RECORDS * _APPENDS_AT_ONCE)):
        parts = [
            tuple(group[start : start + _BATCH_RECORDS])
            for start in range(0, len(group), _BATCH_RECORDS)
        ]
        await asyncio.gather(*(log.append(NewBatch(records=part)) for part in parts))
    await log.close()
