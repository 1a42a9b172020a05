"""Partition changes as a controller writes them when brokers stop and restart."""

import random
from collections.abc import Iterable, Iterator

from metadata_log.format.batch import NewBatch
from records.avro.codec import encode_rows
from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from records.registry import newest_version

_SEED = 20_261_121
_BROKERS = range(1, 10)
_TOPICS = 400
_PARTITIONS = 12
_VERSION = newest_version(PartitionChangeRecord)


def partition_changes() -> Iterator[PartitionChangeRecord]:
    """Yield changes without end: each broker leaves the ISR of its partitions and returns to it."""
    rng = random.Random(_SEED)
    topics = [Uuid(rng.randbytes(16)) for _ in range(_TOPICS)]
    replicas = {
        (topic, partition): tuple(rng.sample(_BROKERS, 3))
        for topic in topics
        for partition in range(_PARTITIONS)
    }
    while True:
        for broker in _BROKERS:
            mine = [item for item in replicas.items() if broker in item[1]]
            for (topic, partition), assigned in mine:
                isr = tuple([n for n in assigned if n != broker])
                yield PartitionChangeRecord(
                    topic_id=topic, partition_id=partition, isr=isr, leader=isr[0]
                )
            for (topic, partition), assigned in mine:
                yield PartitionChangeRecord(topic_id=topic, partition_id=partition, isr=assigned)


def batches(changes: Iterable[PartitionChangeRecord], size: int) -> Iterator[NewBatch]:
    """Yield the changes in batches of `size`."""
    iterator = iter(changes)
    while True:
        yield NewBatch(records=tuple([next(iterator) for _ in range(size)]))


def stored_bytes(offset: int, change: PartitionChangeRecord, timestamp: int) -> bytes:
    """Return the row that the log stores for a record; the peers store the same bytes."""
    row = Envelope(
        offset=offset,
        leader_epoch=1,
        timestamp=timestamp,
        batch_offset=offset,
        record_version=_VERSION,
        payload=change,
    )
    return encode_rows([row])
