"""Random events of partitions."""

import random
from collections.abc import Callable
from typing import Any

from benchmarks.new_partition import new_partition
from records import partitions
from records.base import Record, Uuid
from tests.simulated_cluster.state import NAMES, Cluster, Partition, new_id, some


def change_partition(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    found = some_partition(cluster, rng)
    if found is None:
        return []
    topic_id, partition_id, partition = found
    change = rng.choice(_PARTITION_CHANGES)(rng, partition)
    return [
        partitions.PartitionChangeRecord(topic_id=topic_id, partition_id=partition_id, **change)
    ]


def rewrite_partition(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    found = some_partition(cluster, rng)
    return [] if found is None else [add_partition(cluster, rng, found[0], found[1])]


def grow_topic(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.topics:
        return []
    topic_id = rng.choice(list(cluster.topics))
    first = max(cluster.topics[topic_id].partitions, default=-1) + 1
    return [add_partition(cluster, rng, topic_id, first + n) for n in range(rng.randrange(1, 3))]


def clear_elr(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    return [partitions.ClearElrRecord(topic_name=rng.choice(["", "unknown", *NAMES]))]


def add_partition(
    cluster: Cluster, rng: random.Random, topic_id: Uuid, partition_id: int
) -> Record:
    usable = list(cluster.brokers) or [1, 2, 3]
    replicas = tuple(rng.sample(usable, min(len(usable), rng.randrange(1, 4))))
    cluster.topics[topic_id].partitions[partition_id] = Partition(replicas, replicas, replicas[0])
    directories = rng.choice([(), tuple(new_id(rng) for _ in replicas)])
    return new_partition(topic_id, partition_id, replicas, directories)


def some_partition(cluster: Cluster, rng: random.Random) -> tuple[Uuid, int, Partition] | None:
    able = [topic_id for topic_id, topic in cluster.topics.items() if topic.partitions]
    if not able:
        return None
    topic_id = rng.choice(able)
    partition_id = rng.choice(list(cluster.topics[topic_id].partitions))
    return topic_id, partition_id, cluster.topics[topic_id].partitions[partition_id]


def _change_isr(rng: random.Random, partition: Partition) -> dict[str, Any]:
    partition.isr = some(rng, partition.replicas)
    if partition.leader in partition.isr:
        return {"isr": partition.isr}
    partition.leader = partition.isr[0]
    return {"isr": partition.isr, "leader": partition.leader}


def _elect(rng: random.Random, partition: Partition) -> dict[str, Any]:
    partition.leader = rng.choice([-1, *partition.isr])
    recovery = {"leader_recovery_state": rng.randrange(2)} if rng.random() < 0.3 else {}
    return {"leader": partition.leader, **recovery}


def _reassign(rng: random.Random, partition: Partition) -> dict[str, Any]:
    target = tuple(rng.sample(range(1, 12), rng.randrange(1, 4)))
    partition.replicas = partition.isr = target
    partition.leader = target[0]
    directories = {"directories": tuple(new_id(rng) for _ in target)}
    return {
        "replicas": target,
        "isr": target,
        "leader": target[0],
        "adding_replicas": rng.choice([None, (), target[:1]]),
        "removing_replicas": rng.choice([None, (), target[1:]]),
        **rng.choice([{}, directories]),
    }


def _assign_directories(rng: random.Random, partition: Partition) -> dict[str, Any]:
    return {"directories": rng.choice([(), tuple(new_id(rng) for _ in partition.replicas)])}


def _lose_isr(rng: random.Random, partition: Partition) -> dict[str, Any]:
    partition.isr, partition.leader = (), -1
    return {
        "isr": (),
        "leader": -1,
        "eligible_leader_replicas": rng.choice([(), partition.replicas]),
        "last_known_elr": rng.choice([None, partition.replicas[:1]]),
    }


def _change_mode(rng: random.Random, partition: Partition) -> dict[str, Any]:
    return {"mode": rng.choice([-1, 0, 1])}


_PARTITION_CHANGES: list[Callable[[random.Random, Partition], dict[str, Any]]] = [
    _change_isr,
    _elect,
    _reassign,
    _assign_directories,
    _lose_isr,
    _change_mode,
]
