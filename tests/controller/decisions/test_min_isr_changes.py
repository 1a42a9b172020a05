"""Changes of min.insync.replicas while eligible leader replicas (ELR) are tracked."""

import pytest

from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ReplaceConfigs,
    ResourceChange,
    alter_configs,
    replace_configs,
)
from controller.decisions.context.context import Settings
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    UpgradeType,
    bootstrap_records,
    update_features,
)
from controller.decisions.levels import ELR_FEATURE, METADATA_VERSION_NEWEST
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    MoveTopics,
    create_namespace,
    move_topics,
)
from records.base import Record
from records.configs import ConfigRecord, FeatureLevelRecord
from records.partitions import ClearElrRecord, PartitionChangeRecord
from records.topics import MoveTopicRecord
from replay.image.configs import BROKER, NAMESPACE, TOPIC
from tests.controller.cluster import Cluster

MIN_ISR = "min.insync.replicas"
WITH_ELR = {"metadata.version": METADATA_VERSION_NEWEST, "namespace.version": 1, ELR_FEATURE: 1}
TOPICS = {"plain": "", "own": "org:apache", "inherits": "org:apache", "elsewhere": "com"}


@pytest.fixture
def cluster() -> Cluster:
    """Brokers 2 and 3 are gone, and eligible for every topic, whose minimum is 2."""
    cluster = Cluster(WITH_ELR, namespace="")
    cluster.add_brokers(1, 2, 3)
    for namespace in ("org:apache", "com"):
        cluster.do(create_namespace, CreateNamespace(namespace))
    _set(cluster, BROKER, "", "2")
    for name, namespace in TOPICS.items():
        configs = ((MIN_ISR, "2"),) if name == "own" else ()
        cluster.create(name, [1, 2, 3], namespace=namespace, configs=configs)
    cluster.fence(3)
    cluster.fence(2)
    assert _eligible(cluster) == set(TOPICS)
    return cluster


def _set(cluster: Cluster, type_: int, resource: str, value: str | None) -> str:
    """Set min.insync.replicas; return the refusal, or NONE."""
    operation = Operation.DELETE if value is None else Operation.SET
    changes = (ConfigChange(MIN_ISR, value, operation),)
    change = ResourceChange(resource_type=type_, resource_name=resource, changes=changes)
    (result,) = cluster.do(alter_configs, AlterConfigs(resources=(change,)))
    return "NONE" if result.refusal is None else result.refusal.message


def _level(cluster: Cluster, level: int) -> None:
    kind = UpgradeType.UPGRADE if level else UpgradeType.SAFE_DOWNGRADE
    update = FeatureUpdate(name=ELR_FEATURE, level=level, upgrade_type=kind)
    cluster.do(update_features, UpdateFeatures(updates=(update,)))


def _eligible(cluster: Cluster) -> set[str]:
    """Return the topics with eligible replicas."""
    return {
        topic.name
        for topic in cluster.image.topics()
        for partition in cluster.image.partitions(topic.topic_id)
        if partition.eligible_leader_replicas
    }


def _config(type_: int, resource: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=type_, resource_name=resource, name=MIN_ISR, value=value)


@pytest.mark.parametrize("static", [None, "2"])
def test_switching_elr_on_makes_one_minimum_of_all_brokers(static: str | None) -> None:
    configs = {} if static is None else {MIN_ISR: static}
    cluster = Cluster(settings=Settings(cluster_id="c", static_configs=configs), namespace="")
    cluster.add_brokers(1, 3, 10)
    for broker in ("10", "3"):
        assert _set(cluster, BROKER, broker, "3") == "NONE"
    _level(cluster, 1)
    assert list(cluster.records) == [
        _config(BROKER, "", static or "1"),
        _config(BROKER, "3", None),
        _config(BROKER, "10", None),
        FeatureLevelRecord(name=ELR_FEATURE, feature_level=1),
    ]
    _level(cluster, 1)
    assert list(cluster.records) == []


def test_a_minimum_of_the_cluster_is_kept_when_elr_is_switched_on() -> None:
    cluster = Cluster(namespace="")
    _set(cluster, BROKER, "", "3")
    _level(cluster, 1)
    assert cluster.records == (FeatureLevelRecord(name=ELR_FEATURE, feature_level=1),)


def test_a_new_log_with_elr_has_the_static_minimum() -> None:
    assert _config(BROKER, "", "2") in bootstrap_records(WITH_ELR, 2)
    assert _config(BROKER, "", "1") in bootstrap_records(WITH_ELR)
    without = {**WITH_ELR, ELR_FEATURE: 0}
    assert not any(isinstance(each, ConfigRecord) for each in bootstrap_records(without, 2))


def test_while_elr_is_on_no_broker_has_a_minimum_of_its_own_and_the_cluster_keeps_one(
    cluster: Cluster,
) -> None:
    of_broker = f"{MIN_ISR} of one broker cannot be changed while ELR is enabled"
    of_cluster = f"{MIN_ISR} of the cluster cannot be removed while ELR is enabled"
    assert _set(cluster, BROKER, "1", "2") == of_broker
    assert _set(cluster, BROKER, "1", None) == of_broker
    assert _set(cluster, BROKER, "", None) == of_cluster
    all_others = ResourceChange(
        resource_type=BROKER, resource_name="", changes=(ConfigChange("num.io.threads", "9"),)
    )
    (replaced,) = cluster.do(replace_configs, ReplaceConfigs(resources=(all_others,)))
    assert replaced.refusal.message == of_cluster
    _level(cluster, 0)
    assert _set(cluster, BROKER, "1", "2") == "NONE"
    assert _set(cluster, BROKER, "", None) == "NONE"
    assert cluster.records == (_config(BROKER, "", None),)


@pytest.mark.parametrize(
    ("topic", "source", "minimum", "is_cleared"),
    [
        ("inherits", "org:apache", "1", True),
        ("inherits", "org:apache", "2", False),
        ("inherits", "org:apache", None, False),
        ("own", "org:apache", "1", False),
        ("plain", "", "1", True),
    ],
)
def test_a_move_to_another_minimum_clears_the_elr_of_those_that_inherit_it(
    cluster: Cluster, topic: str, source: str, minimum: str | None, is_cleared: bool
) -> None:
    if minimum is not None:
        _set(cluster, NAMESPACE, "com", minimum)
    before = _eligible(cluster)
    assert topic in before
    move = MoveTopics(from_namespace=source, to_namespace="com", topic=topic)
    cluster.do(move_topics, move)
    assert _eligible(cluster) == (before - {topic} if is_cleared else before)
    assert isinstance(cluster.records[0], MoveTopicRecord)
    assert len(cluster.records) == 1 + is_cleared


@pytest.mark.parametrize(
    ("type_", "resource", "left"),
    [
        (TOPIC, "plain", {"own", "inherits", "elsewhere"}),
        (TOPIC, "org:apache:own", {"plain", "inherits", "elsewhere"}),
        (NAMESPACE, "org:apache", {"plain", "own", "elsewhere"}),
        (NAMESPACE, "org", {"plain", "own", "elsewhere"}),
        (BROKER, "", set()),
    ],
)
def test_a_new_minimum_clears_the_elr_of_those_whom_it_concerns(
    cluster: Cluster, type_: int, resource: str, left: set[str]
) -> None:
    assert _set(cluster, type_, resource, "3") == "NONE"
    assert _eligible(cluster) == left
    assert cluster.records[0] == _config(type_, resource, "3")


@pytest.mark.parametrize(
    ("type_", "resource", "cleared"),
    [
        (TOPIC, "plain", [ClearElrRecord(topic_name="plain")]),
        (BROKER, "", [ClearElrRecord(topic_name="")]),
    ],
)
def test_where_kafka_has_a_record_for_it_that_is_written(
    cluster: Cluster, type_: int, resource: str, cleared: list[Record]
) -> None:
    _set(cluster, type_, resource, "3")
    assert list(cluster.records) == [_config(type_, resource, "3"), *cleared]
    _set(cluster, NAMESPACE, "org", "3")
    expected = [] if type_ == BROKER else [PartitionChangeRecord]
    assert [type(record) for record in cluster.records[1:]] == expected


def test_other_configs_clear_nothing(cluster: Cluster) -> None:
    change = ResourceChange(
        resource_type=BROKER, resource_name="", changes=(ConfigChange("num.io.threads", "9"),)
    )
    cluster.do(alter_configs, AlterConfigs(resources=(change,)))
    assert len(cluster.records) == 1
    assert _eligible(cluster) == set(TOPICS)
