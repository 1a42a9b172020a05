"""ISR changes requested by leaders."""

from typing import Any

import pytest

from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    PartitionResult,
    alter_partition,
)
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Three active brokers and a fenced fourth one; broker 1 leads orders-0."""
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.register(4)
    cluster.create("orders", [1, 2, 3, 4])
    return cluster


def _alter(cluster: Cluster, *isr: int, sender: int = 1, **fields: Any) -> PartitionResult:
    partition = cluster.partition("orders")
    defaults: dict[str, Any] = {
        "topic_id": partition.topic_id,
        "partition_id": 0,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
        "new_isr": tuple([IsrMember(broker_id) for broker_id in isr]),
    }
    alteration = PartitionAlteration(**defaults | fields)
    request = AlterPartition(
        broker_id=sender,
        broker_epoch=cluster.broker(sender).broker_epoch,
        partitions=(alteration,),
    )
    (result,) = cluster.do(alter_partition, request)
    assert isinstance(result, PartitionResult)
    return result


def _code(result: PartitionResult) -> str:
    return result.refusal.code if result.refusal else "NONE"


def test_a_follower_leaves_the_isr_and_comes_back(cluster: Cluster) -> None:
    result = _alter(cluster, 1, 3)
    assert result.partition == cluster.partition("orders")
    assert (result.partition.isr, result.partition.partition_epoch) == ((1, 3), 1)
    assert cluster.records == (
        PartitionChangeRecord(
            partition_id=0, topic_id=cluster.topic("orders").topic_id, isr=(1, 3)
        ),
    )
    _alter(cluster, 1, 3, 2)
    assert cluster.partition("orders").isr == (1, 3, 2)


def test_a_partition_named_twice_is_refused_both_times(cluster: Cluster) -> None:
    partition = cluster.partition("orders")
    alterations = [
        PartitionAlteration(
            topic_id=partition.topic_id,
            partition_id=0,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr=(IsrMember(1), IsrMember(follower)),
        )
        for follower in (2, 3)
    ]
    request = AlterPartition(
        broker_id=1, broker_epoch=cluster.broker(1).broker_epoch, partitions=tuple(alterations)
    )
    results = cluster.do(alter_partition, request)
    assert [_code(result) for result in results] == ["INVALID_REQUEST"] * 2
    assert cluster.partition("orders") == partition


def test_an_isr_that_stays_the_same_is_accepted_without_a_record(cluster: Cluster) -> None:
    assert _code(_alter(cluster, 1, 2, 3)) == "NONE"
    assert cluster.records == ()


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ((1,), {"topic_id": Uuid(bytes([9] * 16))}, "UNKNOWN_TOPIC_ID"),
        ((1,), {"leader_recovery_state": 5}, "INVALID_REQUEST"),
        ((1,), {"leader_recovery_state": -1}, "INVALID_REQUEST"),
        ((1,), {"partition_id": 1}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ((1,), {"leader_epoch": 1}, "NOT_CONTROLLER"),
        ((1,), {"partition_epoch": 1}, "NOT_CONTROLLER"),
        ((1,), {"leader_epoch": -1}, "FENCED_LEADER_EPOCH"),
        ((1,), {"sender": 2}, "INVALID_REQUEST"),
        ((1,), {"partition_epoch": -1}, "INVALID_UPDATE_VERSION"),
        ((1, 9), {}, "INVALID_REQUEST"),
        ((1, 2, 2), {}, "INVALID_REQUEST"),
        ((2, 3), {}, "INVALID_REQUEST"),
        ((), {}, "INVALID_REQUEST"),
        ((1,), {"leader_recovery_state": 1}, "INVALID_REQUEST"),
        ((1, 4), {}, "INELIGIBLE_REPLICA"),
        ((), {"new_isr": (IsrMember(1), IsrMember(2, 5))}, "INELIGIBLE_REPLICA"),
    ],
)
def test_what_a_leader_may_not_say_is_refused(
    cluster: Cluster, isr: tuple[int, ...], fields: dict[str, Any], code: str
) -> None:
    assert _code(_alter(cluster, *isr, **fields)) == code
    assert cluster.records == ()


def test_of_several_faults_the_first_in_kafkas_order_is_named(cluster: Cluster) -> None:
    both = {"leader_epoch": -1, "partition_epoch": 1}
    assert _code(_alter(cluster, 1, **both)) == "NOT_CONTROLLER"
    assert _code(_alter(cluster, 9, leader_epoch=-1, sender=2)) == "FENCED_LEADER_EPOCH"
    assert _code(_alter(cluster, 9, partition_epoch=-1, sender=2)) == "INVALID_REQUEST"


def test_a_follower_that_shuts_down_does_not_join(cluster: Cluster) -> None:
    cluster.create("led-by-2", [2, 1])
    cluster.heartbeat(2, want_shutdown=True)
    assert _code(_alter(cluster, 1, 2, 3)) == "INELIGIBLE_REPLICA"


def test_a_follower_with_its_current_epoch_joins(cluster: Cluster) -> None:
    _alter(cluster, 1)
    member = IsrMember(2, cluster.broker(2).broker_epoch)
    assert _code(_alter(cluster, new_isr=(IsrMember(1), member))) == "NONE"


def test_another_process_of_the_leader_is_refused(cluster: Cluster) -> None:
    request = AlterPartition(broker_id=1, broker_epoch=0, partitions=())
    assert cluster.refused(alter_partition, request).code == "STALE_BROKER_EPOCH"


def test_a_recovering_leader_recovers_alone_and_then_takes_others_in() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.create("orders", [2, 1], configs=(("unclean.leader.election.enable", "true"),))
    cluster.fence(1)
    cluster.fence(2)
    cluster.heartbeat(1)
    assert cluster.partition("orders").leader_recovery_state == 1
    cluster.heartbeat(2)
    assert _code(_alter(cluster, 1, 2, leader_recovery_state=1)) == "INVALID_REQUEST"
    assert _code(_alter(cluster, 1, leader_recovery_state=1)) == "NONE"
    assert cluster.records == ()
    assert _code(_alter(cluster, 1)) == "NONE"
    assert cluster.partition("orders").leader_recovery_state == 0
    assert _code(_alter(cluster, 1, 2)) == "NONE"


def test_a_change_that_completes_a_reassignment_and_moves_the_leader_says_so(
    cluster: Cluster,
) -> None:
    cluster.heartbeat(4)
    cluster.write(
        [
            PartitionChangeRecord(
                partition_id=0,
                topic_id=cluster.topic("orders").topic_id,
                adding_replicas=(4,),
                removing_replicas=(1,),
            )
        ]
    )
    result = _alter(cluster, 1, 2, 3, 4)
    assert (_code(result), result.partition) == ("NEW_LEADER_ELECTED", None)
    partition = cluster.partition("orders")
    assert (partition.replicas, partition.isr) == ((2, 3, 4), (2, 3, 4))
    assert (partition.leader, partition.leader_epoch) == (2, 1)


def test_partitions_of_one_request_are_decided_one_by_one(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    alterations = tuple(
        PartitionAlteration(
            topic_id=topic_id,
            partition_id=partition_id,
            leader_epoch=0,
            partition_epoch=0,
            new_isr=(IsrMember(1),),
        )
        for partition_id in (5, 0)
    )
    epoch = cluster.broker(1).broker_epoch
    request = AlterPartition(broker_id=1, broker_epoch=epoch, partitions=alterations)
    results = cluster.do(alter_partition, request)
    assert [_code(result) for result in results] == ["UNKNOWN_TOPIC_OR_PARTITION", "NONE"]
    assert len(cluster.records) == 1
