"""One change in a topic of 200,000 partitions, compared with a topic of 1,000 partitions."""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from benchmarks.controller_cluster import DecidedCluster
from benchmarks.harness import Result
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.partitions.elections import ElectLeaders, elect_leaders
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.raw_appends.raw_append import AppendRecords, append_records
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition

T = TypeVar("T")

_BROKERS = 12
_ZONES = 3
_SMALL, _LARGE = 1_000, 200_000
_CHANGES = 1_000
_KEPT = 1_000
# Goes through a topic in leaps, so that neighbouring changes are far from each other.
_STRIDE = 7_919


class _Topic(msgspec.Struct, frozen=True):
    """A cluster with one topic."""

    cluster: DecidedCluster
    topic_id: Uuid
    partition_count: int

    @classmethod
    def of(cls, partition_count: int) -> "_Topic":
        cluster = DecidedCluster()
        cluster.add_brokers(_BROKERS, racks=_ZONES)
        (topic_id,) = cluster.fill(partition_count, brokers=_BROKERS, in_topic=partition_count)
        return cls(cluster, topic_id, partition_count)

    def partition(self, change: int) -> Partition:
        """Return the partition that change number `change` affects."""
        number = change * _STRIDE % self.partition_count
        partition = self.cluster.image.partition(self.topic_id, number)
        assert partition is not None
        return partition


def run(scratch: Path) -> list[Result]:
    """Measure in memory, without a log: an append costs the same for both topics."""
    gc.collect()
    image_bytes, large = _allocated(partial(_Topic.of, _LARGE))
    small = _Topic.of(_SMALL)
    large_bytes, small_bytes = _kept_bytes(large), _kept_bytes(small)
    gc.freeze()
    try:
        times = [
            _time(large, small, "replayed change", _replay),
            _time(large, small, "AlterPartition", _alter),
            _time(large, small, "election", _elect),
            _time(large, small, "move begun, called off", _move),
            _time(large, small, "raw append", _append),
        ]
    finally:
        gc.unfreeze()
    return [
        *times,
        Result(
            name=f"an image kept a change at {_LARGE:,} in a topic / at {_SMALL:,}",
            ours=f"{large_bytes / _KEPT:,.0f} bytes",
            peer=f"{small_bytes / _KEPT:,.0f} bytes",
            ratio=large_bytes / small_bytes,
            target=1.2,
            at_most=True,
        ),
        Result(
            name=f"{_KEPT:,} images kept at {_LARGE:,} in a topic / one",
            ours=f"{(image_bytes + large_bytes) / 1e6:,.1f} MB",
            peer=f"{image_bytes / 1e6:,.1f} MB",
            ratio=(image_bytes + large_bytes) / image_bytes,
            target=1.2,
            at_most=True,
        ),
    ]


def _time(large: _Topic, small: _Topic, name: str, change: Callable[[_Topic, int], None]) -> Result:
    costs: tuple[list[float], list[float]] = ([], [])
    for n in range(_CHANGES):
        for topic, times in zip((large, small), costs, strict=True):
            start = time.perf_counter()
            change(topic, n)
            times.append(time.perf_counter() - start)
    ours, peer = (statistics.median(times) for times in costs)
    return Result(
        name=f"{name} at {_LARGE:,} in a topic / at {_SMALL:,}",
        ours=f"{ours * 1e6:,.0f} us",
        peer=f"{peer * 1e6:,.0f} us",
        ratio=ours / peer,
        target=2,
        at_most=True,
    )


def _kept_bytes(topic: _Topic) -> int:
    """Return the additional memory of keeping an image after each of 1,000 changes."""
    kept: list[MetadataImage] = []

    def keep() -> None:
        for n in range(_KEPT):
            _replay(topic, n)
            kept.append(topic.cluster.image)

    return _allocated(keep)[0]


def _allocated(work: Callable[[], T]) -> tuple[int, T]:
    """Return the number of bytes that `work` leaves allocated, and its result."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], result
    finally:
        tracemalloc.stop()


def _replay(topic: _Topic, n: int) -> None:
    """Apply an ISR change without a decision."""
    partition = topic.partition(n)
    record = PartitionChangeRecord(
        topic_id=topic.topic_id, partition_id=partition.partition_id, isr=_other_isr(partition)
    )
    topic.cluster.write([record])


def _append(topic: _Topic, n: int) -> None:
    """Make an ISR change by a raw append of its record."""
    partition = topic.partition(n)
    record = PartitionChangeRecord(
        topic_id=topic.topic_id, partition_id=partition.partition_id, isr=_other_isr(partition)
    )
    request = AppendRecords(records=(record,))
    topic.cluster.decide(partial(append_records, request=request))


def _alter(topic: _Topic, n: int) -> None:
    """Make an ISR change by AlterPartition: shrink to the leader, or expand to all replicas."""
    partition = topic.partition(n)
    broker = topic.cluster.image.broker(partition.leader)
    assert broker is not None
    alteration = PartitionAlteration(
        topic_id=topic.topic_id,
        partition_id=partition.partition_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=tuple([IsrMember(replica) for replica in _other_isr(partition)]),
    )
    request = AlterPartition(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, partitions=(alteration,)
    )
    (result,) = topic.cluster.decide(partial(alter_partition, request=request))
    assert result.refusal is None, result.refusal


def _elect(topic: _Topic, n: int) -> None:
    """Make the second replica the leader, then elect the preferred leader again."""
    partition = topic.partition(n)
    usurper = PartitionChangeRecord(
        topic_id=topic.topic_id,
        partition_id=partition.partition_id,
        isr=partition.replicas,
        leader=partition.replicas[1],
    )
    topic.cluster.write([usurper])
    request = ElectLeaders(partitions=((topic.topic_id, partition.partition_id),))
    (result,) = topic.cluster.decide(partial(elect_leaders, request=request))
    assert result.refusal is None, result.refusal


def _move(topic: _Topic, n: int) -> None:
    """Begin to move a replica to another broker, then cancel it."""
    partition = topic.partition(n)
    first, second, third = partition.replicas
    for target in ((first, second, (third + 1) % _BROKERS), None):
        item = PartitionTarget(
            topic=topic.topic_id, partition_id=partition.partition_id, broker_ids=target
        )
        request = AlterReassignments(partitions=(item,))
        (result,) = topic.cluster.decide(partial(alter_reassignments, request=request))
        assert result.refusal is None, result.refusal


def _other_isr(partition: Partition) -> tuple[int, ...]:
    return (partition.leader,) if len(partition.isr) > 1 else partition.replicas
