"""Partitions loaded from a snapshot share equal values."""

from random import Random

import msgspec

from records.base import Uuid
from replay.image.partitions import Partition
from replay.image.topic_entry import TopicEntry
from replay.image.topics import Topic
from replay.snapshot.parts import Parts
from replay.snapshot.stored_topic import StoredTopic

_TOPIC = Topic(topic_id=Uuid(bytes(16)), name="t", namespace_id=None)


def _partitions(random: Random) -> tuple[Partition, ...]:
    """Return partitions on few brokers, some of which have two directories."""
    found = []
    for number in range(200):
        replicas = tuple(random.sample(range(1_000, 1_004), 3))
        found.append(
            Partition(
                topic_id=_TOPIC.topic_id,
                partition_id=number,
                replicas=replicas,
                isr=replicas[: random.choice((2, 3, 3))],
                removing_replicas=(),
                adding_replicas=(),
                leader=replicas[0],
                leader_recovery_state=0,
                leader_epoch=0,
                partition_epoch=0,
                directories=tuple([_directory(random, broker) for broker in replicas]),
            )
        )
    return tuple(found)


def _directory(random: Random, broker_id: int) -> Uuid:
    return Uuid(bytes(12) + (2 * broker_id + (random.random() < 0.1)).to_bytes(4))


def test_equal_values_are_one_object() -> None:
    made = _partitions(Random(1))
    parts = Parts()
    stored = StoredTopic.of(TopicEntry(_TOPIC, made))
    parts.decode("topics", msgspec.msgpack.encode([stored]))
    (loaded,) = parts.objects["topics"]
    assert loaded.partitions == made
    for name in ("topic_id", "replicas", "isr", "directories"):
        values = [getattr(partition, name) for partition in loaded.partitions]
        assert len({id(value) for value in values}) == len(set(values)) < len(values) / 2, name
    for partition in loaded.partitions:
        assert partition.isr is partition.replicas or partition.isr != partition.replicas
