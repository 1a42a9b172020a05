"""The state transitions of partitions and replicas during a scenario."""

from collections.abc import Callable

import pytest

from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    advance_removals,
    delete_partitions,
)
from controller.decisions.topics.topics import DeleteTopics, delete_topics
from controller.descriptions.state_walk import Transition, walk_states
from records.configs import ConfigRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.partitions import PartitionChangeRecord, ReplicaDeletionRecord
from replay.image.metadata import MetadataImage
from replay.loader import images, load_image
from tests.controller.cluster import Cluster
from tests.replay.builders import FakeLog, batches, broker, partition, topic, uid


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    return cluster


def _walked(cluster: Cluster, what: Callable[[], object]) -> list[str]:
    """Run an action; return the transitions that it caused."""
    start, count = cluster.image, len(cluster.steps)
    what()
    return _lines(list(walk_states(cluster.steps[count:], start)))


def _lines(transitions: list[Transition]) -> list[str]:
    """Return transitions as text: `orders-0: New > Online` for a partition, `orders-0@1: ...` for
    its replica on broker 1.
    """
    lines = []
    for step in transitions:
        who = f"{step.topic}-{step.partition_id}"
        who += "" if step.broker_id is None else f"@{step.broker_id}"
        before, after = (
            name.removesuffix("Partition").removesuffix("Replica")
            for name in (step.before, step.after)
        )
        lines.append(f"{who}: {before} > {after}")
    return lines


def _shrink(cluster: Cluster, delay_ms: int) -> None:
    enable = ConfigRecord(
        resource_type=4, resource_name="", name=DELETE_PARTITIONS_ENABLED, value="true"
    )
    cluster.write([enable])
    shrink = TopicShrink(topic="orders", partitions=1)
    cluster.do(delete_partitions, DeletePartitions(topics=(shrink,), delay_ms=delay_ms))


def _report(cluster: Cluster, broker_id: int, *, deleted: bool) -> None:
    report = ReplicaReport(
        topic_id=cluster.topic("orders").topic_id, partition_id=1, deleted=deleted
    )
    request = ReportDeletions(
        broker_id=broker_id,
        broker_epoch=cluster.broker(broker_id).broker_epoch,
        replicas=(report,),
    )
    cluster.do(report_deletions, request)


def test_creation_walks_non_existent_new_online(cluster: Cluster) -> None:
    cluster.fence(3)
    assert _walked(cluster, lambda: cluster.create("orders", [1, 3])) == [
        "orders-0: NonExistent > New",
        "orders-0: New > Online",
        "orders-0@1: NonExistent > New",
        "orders-0@1: New > Online",
        "orders-0@3: NonExistent > New",
        "orders-0@3: New > Offline",
    ]


def test_a_fenced_broker_takes_its_replicas_offline_and_moves_what_it_led(
    cluster: Cluster,
) -> None:
    cluster.create("orders", [1, 2], [2, 3])
    assert _walked(cluster, lambda: cluster.fence(1)) == [
        "orders-0: Online > Online",
        "orders-0@1: Online > Offline",
    ]
    assert _walked(cluster, lambda: cluster.fence(2)) == [
        "orders-0: Online > Offline",
        "orders-0@2: Online > Offline",
        "orders-1: Online > Online",
        "orders-1@2: Online > Offline",
    ]
    assert _walked(cluster, lambda: cluster.heartbeat(2)) == [
        "orders-0: Offline > Online",
        "orders-0@2: Offline > Online",
        "orders-1@2: Offline > Online",
    ]


def test_a_deleted_topic_walks_to_non_existent(cluster: Cluster) -> None:
    cluster.create("orders", [1])
    delete = DeleteTopics(topics=("orders",))
    assert _walked(cluster, lambda: cluster.do(delete_topics, delete)) == [
        "orders-0: Online > Offline",
        "orders-0: Offline > NonExistent",
        "orders-0@1: Online > Offline",
        "orders-0@1: Offline > ReplicaDeletionStarted",
        "orders-0@1: ReplicaDeletionStarted > ReplicaDeletionSuccessful",
        "orders-0@1: ReplicaDeletionSuccessful > NonExistent",
    ]


def test_a_move_brings_replicas_in_and_takes_others_out(cluster: Cluster) -> None:
    cluster.create("orders", [1])
    target = PartitionTarget(topic="orders", partition_id=0, broker_ids=(2,))
    move = AlterReassignments(partitions=(target,))
    assert _walked(cluster, lambda: cluster.do(alter_reassignments, move)) == [
        "orders-0@2: NonExistent > New",
        "orders-0@2: New > Online",
    ]
    in_sync = PartitionChangeRecord(
        topic_id=cluster.topic("orders").topic_id,
        partition_id=0,
        isr=(2,),
        leader=2,
        replicas=(2,),
        adding_replicas=(),
        removing_replicas=(),
    )
    assert _walked(cluster, lambda: cluster.write([in_sync])) == [
        "orders-0: Online > Online",
        "orders-0@1: Online > Offline",
        "orders-0@1: Offline > ReplicaDeletionStarted",
        "orders-0@1: ReplicaDeletionStarted > ReplicaDeletionSuccessful",
        "orders-0@1: ReplicaDeletionSuccessful > NonExistent",
    ]


def test_a_shrink_walks_through_the_states_of_deletion(cluster: Cluster) -> None:
    cluster.create("orders", [1, 2], [1, 2])
    assert _walked(cluster, lambda: _shrink(cluster, 1_000)) == []  # read-only is still online
    cluster.fence(2)
    cluster.now_ms += 1_000
    assert _walked(cluster, lambda: cluster.decide(advance_removals)) == [
        "orders-1: Online > Offline",
        "orders-1@1: Online > Offline",
        "orders-1@1: Offline > ReplicaDeletionStarted",
        "orders-1@2: Offline > ReplicaDeletionIneligible",
    ]
    assert _walked(cluster, lambda: _report(cluster, 1, deleted=True)) == [
        "orders-1@1: ReplicaDeletionStarted > ReplicaDeletionSuccessful",
    ]
    cluster.heartbeat(2)
    assert _walked(cluster, lambda: cluster.decide(advance_removals)) == [
        "orders-1@2: ReplicaDeletionIneligible > Offline",
        "orders-1@2: Offline > ReplicaDeletionStarted",
    ]
    assert _walked(cluster, lambda: _report(cluster, 2, deleted=True)) == [
        "orders-1: Offline > NonExistent",
        "orders-1@1: ReplicaDeletionSuccessful > NonExistent",
        "orders-1@2: ReplicaDeletionStarted > ReplicaDeletionSuccessful",
        "orders-1@2: ReplicaDeletionSuccessful > NonExistent",
    ]


def test_each_step_says_where_it_stands(cluster: Cluster) -> None:
    start = cluster.image
    cluster.create("orders", [1])
    steps = list(walk_states(cluster.steps[-1:], start))
    assert {(step.offset, step.timestamp) for step in steps} == {
        (cluster.next_offset - 1, cluster.now_ms)
    }
    assert {step.leader for step in steps} == {1}


def test_machines_move_when_the_transaction_ends() -> None:
    log = FakeLog(
        batches(
            [broker(1, fenced=False)],
            [BeginTransactionRecord(name=None), topic("orders")],
            [partition("orders", 0, replicas=(1,), isr=(1,))],
            [EndTransactionRecord()],
        )
    )
    steps = list(walk_states(images(log, 0, log.end_offset), MetadataImage.EMPTY))
    assert {step.offset for step in steps} == {log.end_offset - 1}
    assert _lines(steps)[0] == "orders-0: NonExistent > New"


def test_a_raw_record_may_take_a_replica_where_no_controller_does() -> None:
    def deletion(state: int) -> ReplicaDeletionRecord:
        return ReplicaDeletionRecord(
            topic_id=uid("orders"), partition_id=0, broker_id=1, state=state
        )

    log = FakeLog(
        batches(
            [broker(1, fenced=False)],
            [topic("orders"), partition("orders", 0, replicas=(1,), isr=(1,))],
            *[[deletion(state)] for state in (5, 9, 6)],
        )
    )
    steps = list(walk_states(images(log, 2, log.end_offset), load_image(log, 2)))
    assert _lines(steps)[-3:] == [
        "orders-0@1: ReplicaDeletionStarted > ReplicaDeletionSuccessful",
        "orders-0@1: ReplicaDeletionSuccessful > state 9",
        "orders-0@1: state 9 > ReplicaDeletionIneligible",
    ]
