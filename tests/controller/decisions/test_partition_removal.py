"""Partitions are removed from a topic, step by step."""

import pytest

from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.brokers.registrations import unregister_broker
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER
from controller.decisions.levels import MODE_FEATURE, feature_in_use
from controller.decisions.partitions.elections import ElectLeaders, elect_leaders
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    ShrinkResult,
    TopicShrink,
    advance_removals,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.topics.topics import DeleteTopics, delete_topics
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    PartitionChangeRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from tests.controller.cluster import START_MS, Cluster

_DELAY_MS = 60_000


def _enable(cluster: Cluster) -> None:
    change = ConfigChange(DELETE_PARTITIONS_ENABLED, "true")
    resource = ResourceChange(resource_type=BROKER, resource_name="", changes=(change,))
    cluster.do(alter_configs, AlterConfigs(resources=(resource,)))


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers, and a topic `orders` with four partitions, the last two on brokers 1 and 2."""
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3], [1, 2], [2, 1])
    _enable(cluster)
    return cluster


def _shrink(cluster: Cluster, partitions: int, delay_ms: int = 0) -> ShrinkResult:
    request = DeletePartitions(
        topics=(TopicShrink(topic="orders", partitions=partitions),), delay_ms=delay_ms
    )
    (result,) = cluster.do(delete_partitions, request)
    assert isinstance(result, ShrinkResult)
    return result


def _code(result: ShrinkResult) -> str:
    return result.refusal.code if result.refusal else "NONE"


def _report(cluster: Cluster, broker_id: int, *partition_ids: int, deleted: bool = True) -> None:
    topic_id = cluster.topic("orders").topic_id
    request = ReportDeletions(
        broker_id=broker_id,
        broker_epoch=cluster.broker(broker_id).broker_epoch,
        replicas=tuple(
            [
                ReplicaReport(topic_id=topic_id, partition_id=n, deleted=deleted)
                for n in partition_ids
            ]
        ),
    )
    cluster.do(report_deletions, request)


def _states(cluster: Cluster) -> dict[tuple[int, int], int]:
    return {(d.partition_id, d.broker_id): d.state for d in cluster.image.replica_deletions()}


def _count(cluster: Cluster) -> int:
    return len(cluster.image.partitions(cluster.topic("orders").topic_id))


def test_a_delayed_removal_first_makes_the_partitions_read_only(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    assert _shrink(cluster, 2, _DELAY_MS).partition_ids == (2, 3)
    assert cluster.records == (
        DeleteTopicPartitionsRecord(
            topic_id=topic_id, partition_ids=(2, 3), delay_ms=_DELAY_MS, create_time_ms=START_MS
        ),
        PartitionChangeRecord(partition_id=2, topic_id=topic_id, mode=READ_ONLY),
        PartitionChangeRecord(partition_id=3, topic_id=topic_id, mode=READ_ONLY),
    )
    assert cluster.partition("orders", 2).leader == 1, "a read-only partition stays online"


def test_nothing_more_happens_before_the_delay_is_over(cluster: Cluster) -> None:
    _shrink(cluster, 2, _DELAY_MS)
    cluster.now_ms += _DELAY_MS - 1
    assert cluster.decide(advance_removals) == 0
    assert cluster.records == ()


def test_after_the_delay_the_partitions_go_offline_and_are_deleted(cluster: Cluster) -> None:
    _shrink(cluster, 2, _DELAY_MS)
    cluster.now_ms += _DELAY_MS
    cluster.decide(advance_removals)
    for partition_id in (2, 3):
        partition = cluster.partition("orders", partition_id)
        assert (partition.mode, partition.leader) == (NONE, -1)
    assert _states(cluster) == {(2, 1): 4, (2, 2): 4, (3, 1): 4, (3, 2): 4}
    cluster.decide(advance_removals)
    assert cluster.records == (), "brokers must answer first"


def test_without_a_delay_it_starts_at_once(cluster: Cluster) -> None:
    _shrink(cluster, 3)
    assert cluster.partition("orders", 3).mode == NONE
    assert _states(cluster) == {(3, 1): 4, (3, 2): 4}


def test_the_partitions_leave_together_when_the_last_replica_is_gone(cluster: Cluster) -> None:
    _shrink(cluster, 2)
    _report(cluster, 1, 2, 3)
    assert _count(cluster) == 4
    _report(cluster, 2, 2)
    assert _count(cluster) == 4
    _report(cluster, 2, 3)
    topic_id = cluster.topic("orders").topic_id
    assert cluster.records == (
        ReplicaDeletionRecord(topic_id=topic_id, partition_id=3, broker_id=2, state=5),
        *[
            ReplicaDeletionRecord(topic_id=topic_id, partition_id=n, broker_id=b, state=7)
            for n, b in ((2, 1), (2, 2), (3, 2), (3, 1))
        ],
        RemovePartitionsRecord(topic_id=topic_id, partition_ids=(2, 3)),
    )
    assert _count(cluster) == 2
    assert _states(cluster) == {}
    assert list(cluster.image.pending_removals()) == []


def test_a_replica_that_could_not_be_deleted_is_tried_again(cluster: Cluster) -> None:
    _shrink(cluster, 3)
    _report(cluster, 1, 3, deleted=False)
    assert _states(cluster)[3, 1] == 6
    cluster.decide(advance_removals)
    assert _states(cluster)[3, 1] == 4


def test_a_broker_that_is_down_deletes_when_it_is_back(cluster: Cluster) -> None:
    cluster.fence(2)
    _shrink(cluster, 3)
    assert _states(cluster) == {(3, 1): 4, (3, 2): 6}
    _report(cluster, 1, 3)
    cluster.decide(advance_removals)
    assert (_count(cluster), cluster.records) == (4, ())
    cluster.heartbeat(2)
    cluster.decide(advance_removals)
    _report(cluster, 2, 3)
    assert _count(cluster) == 3


def test_nobody_waits_for_a_broker_that_is_unregistered(cluster: Cluster) -> None:
    cluster.fence(2)
    _shrink(cluster, 3)
    cluster.do(unregister_broker, 2)
    _report(cluster, 1, 3)
    assert (_count(cluster), _states(cluster)) == (3, {})


def test_a_late_report_changes_nothing(cluster: Cluster) -> None:
    _shrink(cluster, 3)
    _report(cluster, 3, 3)
    assert cluster.records == ()
    _report(cluster, 1, 3)
    _report(cluster, 1, 3)
    assert cluster.records == ()


def test_a_removal_is_called_off_while_the_partitions_can_still_be_read(cluster: Cluster) -> None:
    _shrink(cluster, 2, _DELAY_MS)
    result = cluster.do(cancel_delete_partitions, "orders")
    assert result.partition_ids == (2, 3)
    topic_id = cluster.topic("orders").topic_id
    assert cluster.records[0] == CancelDeleteTopicPartitionsRecord(
        topic_id=topic_id, partition_ids=(2, 3)
    )
    assert {cluster.partition("orders", n).mode for n in range(4)} == {READ_WRITE}
    cluster.now_ms += _DELAY_MS
    cluster.decide(advance_removals)
    assert cluster.records == ()


def test_a_removal_cannot_be_called_off_when_it_is_too_late_or_was_never_begun(
    cluster: Cluster,
) -> None:
    assert cluster.refused(cancel_delete_partitions, "orders").code == "INVALID_REQUEST"
    _shrink(cluster, 2)
    error = cluster.refused(cancel_delete_partitions, "orders")
    assert "too late" in str(error)


def test_fewer_partitions_are_refused_unless_switched_on() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.create("orders", [1], [1])
    result = _shrink(cluster, 1)
    assert _code(result) == "INVALID_PARTITIONS"
    assert result.refusal is not None
    assert result.refusal.message.startswith("DecreasePartitionsNotAllowed")
    assert "delete.topic.partition.enable=true" in result.refusal.message
    assert cluster.records == ()


@pytest.mark.parametrize("partitions", [0, -1, 4, 5])
def test_a_count_that_is_no_shrink_is_refused(cluster: Cluster, partitions: int) -> None:
    assert _code(_shrink(cluster, partitions)) == "INVALID_PARTITIONS"
    assert cluster.records == ()


def test_without_the_feature_everything_is_refused() -> None:
    cluster = Cluster({"metadata.version": 25})
    assert cluster.refused(delete_partitions, DeletePartitions(topics=())).code == (
        "UNSUPPORTED_VERSION"
    )


def test_while_a_shrink_is_pending_the_topic_neither_grows_nor_shrinks(cluster: Cluster) -> None:
    _shrink(cluster, 3, _DELAY_MS)
    assert _code(_shrink(cluster, 2)) == "REASSIGNMENT_IN_PROGRESS"
    growth = CreatePartitions(topics=(TopicGrowth(topic="orders", partitions=5),))
    (result,) = cluster.do(create_partitions, growth)
    assert result.refusal.code == "REASSIGNMENT_IN_PROGRESS"


def test_a_removed_id_can_be_created_again(cluster: Cluster) -> None:
    _shrink(cluster, 3)
    _report(cluster, 1, 3)
    _report(cluster, 2, 3)
    growth = CreatePartitions(topics=(TopicGrowth(topic="orders", partitions=4),))
    cluster.do(create_partitions, growth)
    partition = cluster.partition("orders", 3)
    assert (partition.mode, partition.partition_epoch) == (READ_WRITE, 0)


def test_deleting_the_topic_ends_its_shrink_and_the_brokers_still_finish(cluster: Cluster) -> None:
    _shrink(cluster, 3)
    topic_id = cluster.topic("orders").topic_id
    _report(cluster, 2, 3)
    cluster.do(delete_topics, DeleteTopics(topics=("orders",)))
    assert list(cluster.image.pending_removals()) == []
    assert _states(cluster) == {(3, 1): 4, (3, 2): 5}
    cluster.decide(advance_removals)
    assert _states(cluster) == {(3, 1): 4}
    report = ReplicaReport(topic_id=topic_id, partition_id=3, deleted=True)
    epoch = cluster.broker(1).broker_epoch
    request = ReportDeletions(broker_id=1, broker_epoch=epoch, replicas=(report,))
    cluster.do(report_deletions, request)
    assert _states(cluster) == {}


def test_a_partition_of_mode_none_gets_no_leader_in_any_way(cluster: Cluster) -> None:
    _shrink(cluster, 3)
    cluster.fence(1)
    cluster.heartbeat(1)
    elect = ElectLeaders(partitions=(("orders", 3),), unclean=True)
    (result,) = cluster.do(elect_leaders, elect)
    assert result.refusal.code == "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    assert cluster.partition("orders", 3).leader == -1


@pytest.mark.parametrize("delay_ms", [-1, 2**63])
def test_a_delay_that_cannot_be_is_refused(cluster: Cluster, delay_ms: int) -> None:
    request = DeletePartitions(topics=(), delay_ms=delay_ms)
    assert cluster.refused(delete_partitions, request).code == "INVALID_REQUEST"


def test_partitions_go_at_once_unless_a_delay_is_given() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.create("orders", [1], [1])
    _enable(cluster)
    shrink = TopicShrink(topic="orders", partitions=1)
    cluster.do(delete_partitions, DeletePartitions(topics=(shrink,)))
    (record, *_) = [r for r in cluster.records if isinstance(r, DeleteTopicPartitionsRecord)]
    assert (record.partition_ids, record.delay_ms) == ((1,), 0)


def test_a_removal_that_waits_needs_its_feature(cluster: Cluster) -> None:
    assert not feature_in_use(cluster.image, MODE_FEATURE)
    _shrink(cluster, 2, _DELAY_MS)
    assert list(cluster.image.replica_deletions()) == []
    assert feature_in_use(cluster.image, MODE_FEATURE)
