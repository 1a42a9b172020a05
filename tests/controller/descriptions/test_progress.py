"""The progress of removals and brokers; that of moves is in the tests of reassignments."""

import pytest

from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.partitions.replica_states import DELETION_STARTED, DELETION_SUCCESSFUL
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    advance_removals,
    delete_partitions,
)
from controller.descriptions.progress import ListRemovals, applied_offsets, removals_listed
from controller.descriptions.view import View
from replay.image.partitions import NONE, READ_ONLY
from tests.controller.cluster import START_MS, Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.create("orders", [1, 2], [2, 1])
    enable = ResourceChange(
        resource_type=BROKER,
        resource_name=CLUSTER_DEFAULT,
        changes=(ConfigChange(DELETE_PARTITIONS_ENABLED, "true"),),
    )
    cluster.do(alter_configs, AlterConfigs(resources=(enable,)))
    shrink = TopicShrink(topic="orders", partitions=1)
    cluster.do(delete_partitions, DeletePartitions(topics=(shrink,), delay_ms=1_000))
    return cluster


def _view(cluster: Cluster) -> View:
    context = cluster.context()
    return View(image=context.image, lazy_index=context.lazy_index, sessions=context.sessions)


def test_removal_shows_when_it_is_due_and_the_brokers_it_waits_for(cluster: Cluster) -> None:
    (removal,) = removals_listed(_view(cluster), ListRemovals())
    assert (removal.topic, removal.partition_id, removal.mode) == ("orders", 1, READ_ONLY)
    assert removal.due_ms == START_MS + 1_000
    assert removal.waited_for == (2, 1)
    assert removal.replica_states == ()


def test_a_removal_follows_the_brokers(cluster: Cluster) -> None:
    cluster.now_ms += 1_000
    cluster.decide(advance_removals)
    report = ReplicaReport(topic_id=cluster.topic("orders").topic_id, partition_id=1, deleted=True)
    request = ReportDeletions(
        broker_id=2, broker_epoch=cluster.broker(2).broker_epoch, replicas=(report,)
    )
    cluster.do(report_deletions, request)
    (removal,) = removals_listed(_view(cluster), ListRemovals(topic="orders"))
    assert removal.mode == NONE
    assert removal.replica_states == ((1, DELETION_STARTED), (2, DELETION_SUCCESSFUL))
    assert removal.waited_for == (1,)


def test_removals_of_another_topic_are_not_listed(cluster: Cluster) -> None:
    cluster.create("carts", [1])
    assert removals_listed(_view(cluster), ListRemovals(topic="carts")) == ()


def test_brokers_say_how_far_they_are(cluster: Cluster) -> None:
    cluster.heartbeat(1, metadata_offset=40)
    cluster.heartbeat(2, metadata_offset=39)
    cluster.register(3)
    view = _view(cluster)
    assert [(a.broker_id, a.offset) for a in applied_offsets(view)] == [(1, 40), (2, 39), (3, None)]


def test_applied_offsets_are_unknown_without_a_controller(cluster: Cluster) -> None:
    view = View.of(cluster.image)
    assert {applied.offset for applied in applied_offsets(view)} == {None}
