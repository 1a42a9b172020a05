"""History and blame of one object, against replaying the whole log."""

import asyncio
import itertools
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

_RECORDS = 300_000
_SEED = 20_261_121
# A log of users' commands holds about so many records a batch.
_BATCH_RECORDS = 27
_APPENDS_AT_ONCE = 256


def run(scratch: Path) -> list[Result]:
    """Measure on an own log of 300,000 generated records in batches of 27."""
    log = scratch / f"own-{_RECORDS}"
    if not log.exists():
        asyncio.run(_write(log))
    with LogReader.open(log) as reader:
        timeline, at = Timeline(reader), reader.end_offset - 1
        topic = min(load_image(reader).topics(), key=lambda each: each.name)
        partition, broker = parse_object(f"partition:{topic.name}/0"), parse_object("broker:1")
        asked = {
            "history of a partition": (lambda: list(timeline.history(partition)), 0.1),
            "blame of a partition": (lambda: timeline.blame(partition, at), 0.1),
            "history of a broker": (lambda: list(timeline.history(broker)), 1.1),
            "blame of a broker": (lambda: timeline.blame(broker, at), 1.1),
        }
        results = []
        for name, (ask, target) in asked.items():
            timed = time_in_turn(ask, lambda: load_image(reader), rounds=3)
            results.append(
                Result(
                    name=f"{name} / full replay of {_RECORDS:,}",
                    ours=milliseconds(timed.ours),
                    peer=milliseconds(timed.peer),
                    ratio=timed.share,
                    target=target,
                    at_most=True,
                )
            )
    return results


async def _write(directory: Path) -> None:
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory)
    records = itertools.chain.from_iterable(
        batch.records for batch in cluster_history(_RECORDS, _SEED)
    )
    while group := list(itertools.islice(records, _BATCH_RECORDS * _APPENDS_AT_ONCE)):
        parts = [
            tuple(group[start : start + _BATCH_RECORDS])
            for start in range(0, len(group), _BATCH_RECORDS)
        ]
        await asyncio.gather(*(log.append(NewBatch(records=part)) for part in parts))
    await log.close()
