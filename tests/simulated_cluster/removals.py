"""Random events of partition removals and replica deletions."""

import random

from records import partitions
from records.base import Record, Uuid
from tests.simulated_cluster.partitions import some_partition
from tests.simulated_cluster.state import Cluster, some

_GONE = 7


def start_removal(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    found = some_partition(cluster, rng)
    if found is None:
        return []
    topic_id, partition_id, _ = found
    topic = cluster.topics[topic_id]
    leaving = tuple(n for n in sorted(topic.partitions) if n >= partition_id)
    topic.pending.update(leaving)
    return [
        partitions.DeleteTopicPartitionsRecord(
            topic_id=topic_id,
            partition_ids=leaving,
            delay_ms=rng.choice([0, 60_000]),
            create_time_ms=1_700_000_000_000 + offset,
        ),
        *(_mode_change(topic_id, n, mode=1) for n in leaving),
    ]


def cancel_removal(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    pending = [topic_id for topic_id, topic in cluster.topics.items() if topic.pending]
    if not pending:
        return []
    topic_id = rng.choice(pending)
    ids = some(rng, sorted(cluster.topics[topic_id].pending))
    cluster.topics[topic_id].pending.difference_update(ids)
    return [
        partitions.CancelDeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=ids),
        *(_mode_change(topic_id, n, mode=0) for n in ids),
    ]


def finish_removal(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    # One partition in ten leaves without a request, as in a damaged order of records.
    rushed = rng.random() < 0.1
    able = [i for i, t in cluster.topics.items() if t.pending or (rushed and t.partitions)]
    if not able:
        return []
    topic_id = rng.choice(able)
    topic = cluster.topics[topic_id]
    ids = some(rng, sorted(topic.partitions if rushed else topic.pending))
    for partition_id in ids:
        del topic.partitions[partition_id]
    topic.pending.difference_update(ids)
    return [partitions.RemovePartitionsRecord(topic_id=topic_id, partition_ids=ids)]


def delete_replica(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    found = some_partition(cluster, rng)
    if found is None:
        return []
    topic_id, partition_id, partition = found
    key = (topic_id, partition_id, rng.choice(partition.replicas))
    cluster.replica_deletions.add(key)
    return [_replica_deletion(key, rng.choice([4, 5, 6]))]


def end_replica_deletion(cluster: Cluster, rng: random.Random, offset: int) -> list[Record]:
    if not cluster.replica_deletions:
        return []
    key = rng.choice(sorted(cluster.replica_deletions))
    cluster.replica_deletions.remove(key)
    return [_replica_deletion(key, _GONE)]


def _mode_change(topic_id: Uuid, partition_id: int, *, mode: int) -> Record:
    return partitions.PartitionChangeRecord(topic_id=topic_id, partition_id=partition_id, mode=mode)


def _replica_deletion(key: tuple[Uuid, int, int], state: int) -> Record:
    topic_id, partition_id, broker_id = key
    return partitions.ReplicaDeletionRecord(
        topic_id=topic_id, partition_id=partition_id, broker_id=broker_id, state=state
    )
