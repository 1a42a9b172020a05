"""Topics described and listed."""

from typing import Any

import pytest

from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT, ConfigSource
from controller.decisions.context.sessions import ReplicaLag
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.descriptions.topics import (
    ConfigValue,
    DescribeTopics,
    ListTopics,
    TopicDescription,
    topics_described,
    topics_listed,
)
from controller.descriptions.view import View
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import Cluster, directory


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3], configs=(("retention.ms", "1000"),))
    return cluster


def _view(cluster: Cluster) -> View:
    context = cluster.context()
    return View(
        image=context.image,
        lazy_index=context.lazy_index,
        settings=context.settings,
        sessions=context.sessions,
    )


def _described(cluster: Cluster, ref: Any = "orders") -> TopicDescription:
    (found,) = topics_described(_view(cluster), DescribeTopics(topics=(ref,))).topics
    assert found.description is not None, found.refusal
    return found.description


def _config(cluster: Cluster, name: str) -> ConfigValue:
    return {config.name: config for config in _described(cluster).configs}[name]


def _set_cluster_config(cluster: Cluster, name: str, value: str) -> None:
    change = ResourceChange(
        resource_type=BROKER,
        resource_name=CLUSTER_DEFAULT,
        changes=(ConfigChange(name, value),),
    )
    cluster.do(alter_configs, AlterConfigs(resources=(change,)))


def test_a_topic_is_described_by_name_or_id(cluster: Cluster) -> None:
    by_name = _described(cluster)
    assert by_name == _described(cluster, by_name.topic_id)
    assert (by_name.name, len(by_name.partitions)) == ("orders", 2)


def test_none_named_means_all_ordered_by_name(cluster: Cluster) -> None:
    cluster.do(create_namespace, CreateNamespace("org:shop"))
    cluster.create("carts", [1], namespace="org:shop")
    cluster.create("alerts", [1])
    names = ["alerts", "orders", "org:shop:carts"]
    assert [
        found.name for found in topics_described(_view(cluster), DescribeTopics()).topics
    ] == names
    assert [listing.name for listing in topics_listed(_view(cluster), ListTopics())] == names


def test_an_unknown_topic_is_refused_alone(cluster: Cluster) -> None:
    unknown_id = Uuid(bytes(15) + b"\x09")
    found = topics_described(
        _view(cluster), DescribeTopics(topics=("carts", unknown_id, "orders"))
    ).topics
    codes = [f.refusal.code if f.refusal else None for f in found]
    assert codes == ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", None]


def test_configs_say_where_they_are_set(cluster: Cluster) -> None:
    _set_cluster_config(cluster, "log.retention.hours", "2")
    _set_cluster_config(cluster, "log.roll.hours", "3")
    own, inherited = _config(cluster, "retention.ms"), _config(cluster, "segment.ms")
    assert (own.value, own.source, own.is_overridden) == ("1000", ConfigSource.TOPIC, True)
    assert (inherited.value, inherited.source) == ("10800000", ConfigSource.CLUSTER)
    assert not inherited.is_overridden
    assert _config(cluster, "cleanup.policy").source is ConfigSource.DEFAULT


def test_a_partition_without_a_leader_says_so(cluster: Cluster) -> None:
    cluster.fence(2)
    cluster.fence(3)
    partition = _described(cluster).partitions[1]
    assert partition.partition.leader == -1
    assert partition.offline_replicas == (2, 3)
    assert _described(cluster).partitions[0].offline_replicas == (2,)


def test_a_replica_in_a_failed_directory_is_offline() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    two = (directory(2), directory(12))
    cluster.register(2, log_dirs=two)
    cluster.heartbeat(2)
    topic = cluster.create("orders", [1, 2])
    placed = PartitionChangeRecord(
        topic_id=topic.topic_id, partition_id=0, directories=(directory(1), two[0])
    )
    cluster.write([placed])
    cluster.heartbeat(2, offline_log_dirs=(two[0],))
    assert _described(cluster, topic.topic_id).partitions[0].offline_replicas == (2,)


def test_lag_is_what_the_follower_said_last(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    assert _described(cluster).partitions[0].lags == (0, None)
    cluster.heartbeat(2, lags=(ReplicaLag(topic_id, 0, 17),))
    assert _described(cluster).partitions[0].lags == (0, 17)
    cluster.heartbeat(2)
    assert _described(cluster).partitions[0].lags == (0, 17)
    cluster.heartbeat(2, lags=())
    assert _described(cluster).partitions[0].lags == (0, None)


def test_lag_of_an_offline_replica_is_unknown(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    cluster.heartbeat(2, lags=(ReplicaLag(topic_id, 0, 17), ReplicaLag(topic_id, 1, 3)))
    cluster.heartbeat(2, want_fence=True)
    described = _described(cluster).partitions[0]
    assert (described.offline_replicas, described.lags) == ((2,), (0, None))
    # What it says while it is fenced does not count either.
    cluster.heartbeat(2, want_fence=True, lags=(ReplicaLag(topic_id, 0, 17),))
    assert _described(cluster).partitions[0].lags == (0, None)


def test_lag_is_unknown_without_a_controller(cluster: Cluster) -> None:
    (found,) = topics_described(View.of(cluster.image), DescribeTopics(topics=("orders",))).topics
    assert found.description is not None
    assert found.description.partitions[1].lags == (0, None)


def test_internal_topics_can_be_left_out(cluster: Cluster) -> None:
    cluster.create("__consumer_offsets", [1, 2])
    listings = topics_listed(_view(cluster), ListTopics())
    assert [(t.name, t.is_internal) for t in listings] == [
        ("__consumer_offsets", True),
        ("orders", False),
    ]
    assert [t.name for t in topics_listed(_view(cluster), ListTopics(internal=False))] == ["orders"]
    assert (listings[1].partition_count, listings[1].replication_factor) == (2, 2)
