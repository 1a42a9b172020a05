"""Partitions are added to topics."""

from typing import Any

import pytest

from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.topics import TopicResult
from records.partitions import PartitionChangeRecord, PartitionRecord
from tests.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3])
    return cluster


def _grow(cluster: Cluster, **fields: Any) -> TopicResult:
    growth = TopicGrowth(**{"topic": "orders", **fields})
    (result,) = cluster.do(create_partitions, CreatePartitions(topics=(growth,)))
    assert isinstance(result, TopicResult)
    return result


def _code(result: TopicResult) -> str:
    return result.refusal.code if result.refusal else "NONE"


def test_new_partitions_follow_the_old_ones_and_have_as_many_replicas(cluster: Cluster) -> None:
    result = _grow(cluster, partitions=4)
    assert (result.partitions, result.replication_factor) == (4, 2)
    added = [r.partition_id for r in cluster.records if isinstance(r, PartitionRecord)]
    assert (added, len(cluster.records)) == ([2, 3], 2)


def test_replicas_can_be_named_for_the_new_partitions(cluster: Cluster) -> None:
    _grow(cluster, partitions=4, assignments=((3, 1), (1, 3)))
    assert cluster.partition("orders", 2).replicas == (3, 1)
    assert cluster.partition("orders", 3).replicas == (1, 3)


@pytest.mark.parametrize(
    ("fields", "code", "kip_name"),
    [
        ({"partitions": 2}, "INVALID_PARTITIONS", "InvalidArgumentPartitions"),
        ({"partitions": 1}, "INVALID_PARTITIONS", "DecreasePartitionsNotAllowed"),
        ({"partitions": 0}, "INVALID_PARTITIONS", "DecreasePartitionsNotAllowed"),
        ({"partitions": 4, "assignments": ((1, 2),)}, "INVALID_REPLICA_ASSIGNMENT", "Invalid"),
        ({"partitions": 3, "assignments": ((1,),)}, "INVALID_REPLICA_ASSIGNMENT", "Invalid"),
        ({"partitions": 3, "assignments": ((1, 9),)}, "INVALID_REPLICA_ASSIGNMENT", "Invalid"),
        ({"topic": "carts", "partitions": 3}, "UNKNOWN_TOPIC_OR_PARTITION", "there is no"),
    ],
)
def test_what_cannot_be_added_is_refused(
    cluster: Cluster, fields: dict[str, Any], code: str, kip_name: str
) -> None:
    result = _grow(cluster, **fields)
    assert _code(result) == code
    assert result.refusal is not None and result.refusal.message.startswith(kip_name)
    assert cluster.records == ()


def test_a_topic_on_the_move_does_not_grow(cluster: Cluster) -> None:
    partition = cluster.partition("orders", 1)
    change = PartitionChangeRecord(
        partition_id=1,
        topic_id=partition.topic_id,
        replicas=(2, 3, 1),
        adding_replicas=(1,),
        removing_replicas=(),
    )
    cluster.write([change])
    assert _code(_grow(cluster, partitions=3)) == "REASSIGNMENT_IN_PROGRESS"


def test_a_topic_named_twice_does_not_grow(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    growths = tuple(TopicGrowth(topic=ref, partitions=3) for ref in ("orders", topic_id))
    results = cluster.do(create_partitions, CreatePartitions(topics=growths))
    assert [_code(result) for result in results] == ["INVALID_REQUEST"] * 2
    assert cluster.records == ()


def test_a_request_that_only_validates_writes_nothing(cluster: Cluster) -> None:
    growth = TopicGrowth(topic="orders", partitions=3)
    cluster.do(create_partitions, CreatePartitions(topics=(growth,), validate_only=True))
    assert cluster.records == ()
