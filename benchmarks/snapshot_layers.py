"""Creating and loading a snapshot of 1,000,000 partitions, and creating the next after few changes.

Of the partitions, 1 % change between the two snapshots.
"""

import hashlib
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL

from benchmarks.harness import Result
from benchmarks.new_partition import new_partition
from records.base import Record, Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from records.topics import TopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.snapshot.file import SnapshotFile
from replay.snapshot.store import SnapshotStore

_TOPICS = 100_000
_PARTITIONS = 10
_BROKERS = range(1, 31)
_CLUSTER_ID = "layers"
_CHANGED_EVERY = 100
_CREATE_TARGET_S = 5.0
_LOAD_TARGET_S = 2.0
_LAYER_TARGET = 0.05

T = TypeVar("T")


def run(scratch: Path) -> list[Result]:
    """Measure this process's processor time and the size of the database in bytes."""
    scratch.mkdir(parents=True, exist_ok=True)
    path = scratch / "snapshots.db"
    first = _after(MetadataImage.EMPTY, _made())
    second = _after(first, _changes())
    url = URL.create("sqlite", database=str(path))
    with SnapshotStore.open(url, _CLUSTER_ID, upgrade=True) as store:
        create_s, made = _timed(lambda: store.create(first))
        first_bytes = path.stat().st_size
        layer_s, _ = _timed(lambda: store.create(second))
    layer_bytes = path.stat().st_size - first_bytes
    file = SnapshotFile(path, _CLUSTER_ID)
    load_s, loaded = _timed(lambda: file.load_newest(made.end_offset - 1))
    assert loaded is not None and loaded.partition_count == _TOPICS * _PARTITIONS
    return [
        _in_seconds("made", create_s, _CREATE_TARGET_S),
        _in_seconds("loaded", load_s, _LOAD_TARGET_S),
        _share("time", f"{layer_s:.2f} s", f"{create_s:.2f} s", layer_s / create_s),
        _share("octets", f"{layer_bytes:,}", f"{first_bytes:,}", layer_bytes / first_bytes),
    ]


def _after(image: MetadataImage, records: Iterator[Record]) -> MetadataImage:
    delta, start = MetadataDelta(image), image.provenance.next_offset
    offset = start
    for offset, record in enumerate(records, start):
        row = Envelope(
            offset=offset,
            leader_epoch=1,
            timestamp=0,
            batch_offset=start,
            record_version=0,
            payload=record,
        )
        delta.replay(row)
    return delta.apply(Provenance(offset=offset, leader_epoch=1))


def _made() -> Iterator[Record]:
    rng = random.Random(1)
    for number in range(_TOPICS):
        topic_id = _topic_id(number)
        yield TopicRecord(topic_id=topic_id, name=f"topic-{number}", namespace_id=None)
        for partition_id in range(_PARTITIONS):
            replicas = tuple(rng.sample(_BROKERS, 3))
            yield new_partition(topic_id, partition_id, replicas)


def _changes() -> Iterator[Record]:
    for number in range(0, _TOPICS, _CHANGED_EVERY):
        yield PartitionChangeRecord(topic_id=_topic_id(number), partition_id=0, leader=1)


def _topic_id(number: int) -> Uuid:
    return Uuid(hashlib.sha256(str(number).encode()).digest()[:16])


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _in_seconds(what: str, seconds: float, target_s: float) -> Result:
    return Result(
        name=f"snapshot of {_TOPICS * _PARTITIONS:,} partitions {what}, CPU / {target_s:.0f} s",
        ours=f"{seconds:.2f} s",
        ratio=seconds / target_s,
        target=1.0,
        at_most=True,
    )


def _share(what: str, layer: str, first: str, share: float) -> Result:
    return Result(
        name=f"snapshot after a change of 1 % of the topics / the first, {what}",
        ours=layer,
        peer=first,
        ratio=share,
        target=_LAYER_TARGET,
        at_most=True,
    )
