"""Partition reassignments."""

from typing import Any

import pytest

from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.levels import ELR_FEATURE, METADATA_VERSION, NEW_CLUSTER_LEVELS
from controller.decisions.partitions.partition_change import RECOVERED, RECOVERING
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    ReassignmentResult,
    alter_reassignments,
)
from controller.descriptions.progress import ListReassignments, reassignments_listed
from controller.descriptions.view import View
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import Cluster, directory


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3, 4)
    cluster.create("orders", [1, 2], [2, 3])
    return cluster


def _reassign(
    cluster: Cluster, *targets: tuple[Any, int, tuple[int, ...] | None], **fields: Any
) -> list[ReassignmentResult]:
    request = AlterReassignments(
        partitions=tuple(
            [PartitionTarget(topic=t, partition_id=p, broker_ids=ids) for t, p, ids in targets]
        ),
        **fields,
    )
    return list(cluster.do(alter_reassignments, request))


def _codes(results: list[ReassignmentResult]) -> list[str | None]:
    return [None if result.refusal is None else result.refusal.code for result in results]


def test_partitions_are_named_by_name_or_id(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    assert _codes(_reassign(cluster, (topic_id, 0, (3, 4)), ("orders", 1, (1, 4)))) == [None, None]
    assert cluster.partition("orders").adding_replicas == (3, 4)
    assert cluster.partition("orders", 1).removing_replicas == (2, 3)


def test_a_partition_named_twice_is_refused_both_times(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    results = _reassign(cluster, (topic_id, 0, (3,)), ("orders", 1, (1, 4)), ("orders", 0, (4,)))
    assert _codes(results) == ["INVALID_REQUEST", None, "INVALID_REQUEST"]
    assert "MultipleTopicInstructionsInOneBatch" in str(results[0].refusal)
    assert cluster.partition("orders").adding_replicas == ()


def test_who_joined_for_a_move_that_is_called_off_is_not_eligible() -> None:
    cluster = Cluster({**NEW_CLUSTER_LEVELS, ELR_FEATURE: 1})
    cluster.add_brokers(1, 2, 3, 4)
    cluster.create("orders", [1, 2], configs=(("min.insync.replicas", "2"),))
    _reassign(cluster, ("orders", 0, (3, 4)))
    partition = cluster.partition("orders")
    alteration = PartitionAlteration(
        topic_id=partition.topic_id,
        partition_id=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=(IsrMember(1), IsrMember(3)),
    )
    epoch = cluster.broker(1).broker_epoch
    cluster.do(
        alter_partition, AlterPartition(broker_id=1, broker_epoch=epoch, partitions=(alteration,))
    )
    assert _codes(_reassign(cluster, ("orders", 0, None))) == [None]
    partition = cluster.partition("orders")
    assert (partition.replicas, partition.isr) == ((1, 2), (1,))
    assert partition.eligible_leader_replicas == ()


def test_validate_only_checks_and_writes_nothing(cluster: Cluster) -> None:
    results = _reassign(cluster, ("orders", 0, (3, 4)), ("orders", 1, (9,)), validate_only=True)
    assert _codes(results) == [None, "INVALID_REPLICA_ASSIGNMENT"]
    assert cluster.records == ()


def test_new_replicas_get_the_directory_of_their_broker(cluster: Cluster) -> None:
    _reassign(cluster, ("orders", 0, (3, 1)))
    assert cluster.partition("orders").replicas == (3, 1, 2)
    assert cluster.partition("orders").directories == (directory(3), directory(1), directory(2))


def test_a_move_to_brokers_that_are_down_waits_for_them(cluster: Cluster) -> None:
    cluster.fence(4)
    _reassign(cluster, ("orders", 0, (4,)))
    (move,) = reassignments_listed(View.of(cluster.image), ListReassignments())
    assert (move.topic, move.partition_id, move.waited_for) == (
        cluster.full_name("orders"),
        0,
        (4,),
    )
    assert cluster.partition("orders").leader == 1


def test_fencing_whoever_leaves_last_does_not_end_the_move_early(cluster: Cluster) -> None:
    _reassign(cluster, ("orders", 0, (3, 4)))
    cluster.fence(1)
    cluster.fence(2)
    partition = cluster.partition("orders")
    assert (partition.leader, partition.isr) == (-1, (2,))
    assert partition.removing_replicas == (1, 2)


def test_any_change_that_fulfils_a_move_ends_it(cluster: Cluster) -> None:
    """Here the change is the fencing of a broker that is only among the old replicas."""
    _reassign(cluster, ("orders", 0, (1, 3)))
    cluster.write(
        [
            PartitionChangeRecord(
                topic_id=cluster.topic("orders").topic_id, partition_id=0, isr=(1, 2, 3)
            )
        ]
    )
    cluster.fence(2)
    partition = cluster.partition("orders")
    assert (partition.replicas, partition.isr) == ((1, 3), (1, 3))
    assert (partition.adding_replicas, partition.removing_replicas) == ((), ())


@pytest.mark.parametrize(("level", "expected"), [(2, RECOVERED), (3, RECOVERING)])
def test_who_takes_over_out_of_sync_recovers_where_records_can_say_so(
    level: int, expected: int
) -> None:
    cluster = Cluster({METADATA_VERSION: level})
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1], configs=(("unclean.leader.election.enable", "true"),))
    _reassign(cluster, ("orders", 0, (2,)))
    cluster.fence(1)
    topic = cluster.topic("orders")
    change = PartitionChangeRecord(
        topic_id=topic.topic_id, partition_id=0, isr=(2,), leader=2, leader_recovery_state=RECOVERED
    )
    cluster.write([change])
    _reassign(cluster, ("orders", 0, None))
    partition = cluster.partition("orders")
    assert (partition.replicas, partition.leader_recovery_state) == ((1,), expected)


def test_only_moving_partitions_are_listed(cluster: Cluster) -> None:
    _reassign(cluster, ("orders", 1, (4, 1)))
    view = View.of(cluster.image)
    assert [move.partition_id for move in reassignments_listed(view, ListReassignments())] == [1]
    name = cluster.full_name("orders")
    assert reassignments_listed(view, ListReassignments(partitions=((name, 0),))) == ()
    (move,) = reassignments_listed(
        view,
        ListReassignments(
            partitions=(
                (name, 0),
                (name, 1),
            )
        ),
    )
    assert (move.replicas, move.adding_replicas, move.removing_replicas) == (
        (4, 1, 2, 3),
        (1, 4),
        (2, 3),
    )


def test_what_was_called_off_or_done_is_listed_no_more(cluster: Cluster) -> None:
    _reassign(cluster, ("orders", 1, (4, 1)), ("orders", 0, (3, 4)))
    _reassign(cluster, ("orders", 1, None))
    _reassign(cluster, ("orders", 0, (1,)))
    assert reassignments_listed(View.of(cluster.image), ListReassignments()) == ()
