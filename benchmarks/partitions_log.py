"""Logs of a cluster with a given number of partitions, as its controller would write them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import MappingProxyType

import msgspec

from benchmarks.controller_cluster import DecidedCluster
from benchmarks.new_partition import new_partition
from benchmarks.unsynced_fs import UnsyncedFs
from controller.decisions.ids import new_id
from metadata_log.format.batch import NewBatch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.brokers import BrokerEndpoint, RegisterBrokerRecord
from records.partitions import PartitionChangeRecord
from records.topics import TopicRecord
from replay.image.metadata import MetadataImage

CLUSTER_ID = "benchmark"
_REPLICAS = 3
_RACKS = 3
_PORT = 20_000
_SEED = 20_261_123


async def write_partitions_log(
    directory: Path,
    partitions: int,
    *,
    in_topic: int = 100,
    brokers: int = 50,
    spare_brokers: int = 0,
    more_topics: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Write, without syncs, a log of topics with `in_topic` partitions each.

    Each partition has 3 replicas; they are spread evenly over the brokers.

    Args:
        partitions: Without those of `more_topics`.
        spare_brokers: Registered, too, but without replicas.
        more_topics: Numbers of partitions of further topics, by name.
    """
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory, fs=UnsyncedFs())
    try:
        cluster = _Registered()
        cluster.add_brokers(brokers + spare_brokers, racks=_RACKS)
        for records in cluster.written:
            await log.append(NewBatch(records=records))
        sizes = {**_sizes(partitions, in_topic), **more_topics}
        for records in _batches(_topics(cluster.image, sizes, brokers)):
            await log.append(NewBatch(records=records))
    finally:
        await log.close()


class _Registered(DecidedCluster):
    """A cluster that keeps the records it writes; each broker gets an address."""

    def __init__(self) -> None:
        self.written: list[tuple[Record, ...]] = []
        super().__init__()

    def write(self, records: Sequence[Record]) -> None:
        addressed = tuple([_addressed(record) for record in records])
        super().write(addressed)
        self.written.append(addressed)


def _addressed(record: Record) -> Record:
    if not isinstance(record, RegisterBrokerRecord):
        return record
    port = _PORT + record.broker_id
    address = BrokerEndpoint(name="PLAINTEXT", host="127.0.0.1", port=port, security_protocol=0)
    return msgspec.structs.replace(record, end_points=(address,))


def moves(partitions: int, *, in_topic: int = 100, brokers: int = 50) -> Iterator[Record]:
    """Yield leader changes for such a log, without end; each new leader is in the ISR."""
    topic_ids = list(itertools.islice(_topic_ids(), -(-partitions // in_topic)))
    for round_ in itertools.count(1):
        for number in range(partitions):
            yield PartitionChangeRecord(
                topic_id=topic_ids[number // in_topic],
                partition_id=number % in_topic,
                leader=_replicas(number, brokers)[round_ % _REPLICAS],
            )


def _sizes(partitions: int, in_topic: int) -> dict[str, int]:
    """Return the number of partitions of each topic, by name."""
    return {
        f"topic-{number}": min(in_topic, partitions - first)
        for number, first in enumerate(range(0, partitions, in_topic))
    }


def _topics(image: MetadataImage, sizes: Mapping[str, int], brokers: int) -> Iterator[Record]:
    directories = {broker.broker_id: broker.log_dirs[0] for broker in image.brokers()}
    numbers = itertools.count()
    for (name, size), topic_id in zip(sizes.items(), _topic_ids(), strict=False):
        yield TopicRecord(name=name, topic_id=topic_id)
        for partition_id in range(size):
            replicas = _replicas(next(numbers), brokers)
            held = tuple([directories[broker] for broker in replicas])
            yield new_partition(topic_id, partition_id, replicas, held)


def _topic_ids() -> Iterator[Uuid]:
    rng = Random(_SEED)
    while True:
        yield new_id(rng)


def _replicas(number: int, brokers: int) -> tuple[int, ...]:
    """Return the replicas of partition number `number` of the log."""
    # Each round over the brokers begins at the next one: any two share some partitions.
    distance = 1 + number // brokers % 7
    return tuple([(number + k * distance) % brokers for k in range(_REPLICAS)])


def _batches(records: Iterator[Record]) -> Iterator[tuple[Record, ...]]:
    while batch := tuple(itertools.islice(records, BATCH_RECORDS_MAX)):
        yield batch
