"""The same commands, clock and random numbers give the same records."""

from functools import partial
from random import Random
from typing import Any

import pytest

from controller.decisions.brokers.heartbeats import Heartbeat, fence_stale_broker
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    create_topics,
    delete_topics,
)
from metadata_log.format.batch import NewBatch
from tests.controller.office import Office


async def _history(seed: int) -> list[NewBatch]:
    """Return the batches that a controller writes for the random commands of a seed."""
    office, rng = Office(), Random(seed)
    await office.controller.activate()
    for broker_id in range(1, 6):
        epoch = await office.register(broker_id)
        beat = Heartbeat(broker_id=broker_id, broker_epoch=epoch, metadata_offset=10_000)
        await office.controller.heartbeat(beat)
    for _ in range(120):
        office.clock.time_ms += rng.randrange(120)
        await office.controller.submit(_command(rng))
    return office.log.batches


def _command(rng: Random) -> Any:
    name = f"topic-{rng.randrange(12)}"
    match rng.randrange(6):
        case 0 | 1:
            topic = NewTopic(name=name, partitions=rng.randrange(1, 7), replication_factor=3)
            return partial(create_topics, request=CreateTopics(topics=(topic,)))
        case 2:
            return partial(delete_topics, request=DeleteTopics(topics=(name,)))
        case 3:
            growth = TopicGrowth(topic=name, partitions=rng.randrange(1, 12))
            return partial(create_partitions, request=CreatePartitions(topics=(growth,)))
        case 4:
            brokers = tuple(rng.sample(range(1, 6), 3))
            target = PartitionTarget(topic=name, partition_id=0, broker_ids=brokers)
            return partial(alter_reassignments, request=AlterReassignments(partitions=(target,)))
        case _:
            return fence_stale_broker


@pytest.mark.parametrize("seed", range(3))
async def test_two_runs_write_the_same_records(seed: int) -> None:
    first, second = await _history(seed), await _history(seed)
    assert len(first) > 40
    assert first == second
