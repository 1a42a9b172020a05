"""Memory of many kept versions of an image, as when a user moves back and forth in time."""

import gc
import random
import tracemalloc
from pathlib import Path

from benchmarks.harness import Result
from benchmarks.new_partition import new_partition
from metadata_log.format.batch import Batch
from records.base import Record, Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from records.topics import TopicRecord
from replay.image.metadata import MetadataImage
from replay.loader import Replayer

_TOPICS, _PARTITIONS = 10_000, 10
_KEPT = 10_000
_BYTES_MAX = 3_000
_SEED = 20_261_123


def run(_: Path) -> list[Result]:
    """Change one random partition many times, keep every image, and measure the memory per
    image.
    """
    replayer, rng = Replayer(), random.Random(_SEED)
    for number in range(_TOPICS):
        _write(replayer, *_topic(number))
    kept: list[MetadataImage] = [replayer.image()]
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(_KEPT):
            change = PartitionChangeRecord(
                topic_id=_id(rng.randrange(_TOPICS)),
                partition_id=rng.randrange(_PARTITIONS),
                leader=number % 3,
            )
            _write(replayer, change)
            kept.append(replayer.image())
        gc.collect()
        each = tracemalloc.get_traced_memory()[0] / _KEPT
    finally:
        tracemalloc.stop()
    return [
        Result(
            name=f"{_KEPT:,} versions kept of an image of {_TOPICS * _PARTITIONS:,} partitions",
            ours=f"{each:,.0f} bytes each",
            peer=f"{_BYTES_MAX:,} bytes",
            ratio=each / _BYTES_MAX,
            target=1.0,
            at_most=True,
        )
    ]


def _id(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def _topic(number: int) -> list[Record]:
    topic_id = _id(number)
    partitions = [new_partition(topic_id, n, (0, 1, 2)) for n in range(_PARTITIONS)]
    return [TopicRecord(topic_id=topic_id, name=f"topic-{number}"), *partitions]


def _write(replayer: Replayer, *records: Record) -> None:
    base = replayer.next_offset
    rows = tuple(
        Envelope(
            offset=base + index,
            leader_epoch=1,
            timestamp=base,
            batch_offset=base,
            record_version=0,
            payload=record,
        )
        for index, record in enumerate(records)
    )
    replayer.replay(Batch.of(rows))
