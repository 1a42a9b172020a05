"""Configs of namespaces: topics in them and below inherit them; they are deleted with the
namespace.
"""

import pytest
from msgspec.structs import replace

from controller.decisions.config_definitions.namespaces import NAMESPACE_CONFIGS
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import min_isr, topic_config
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from records.configs import ConfigRecord
from replay.image.configs import BROKER, NAMESPACE, TOPIC
from tests.controller.cluster import Cluster, assigned


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.do(create_namespace, CreateNamespace("org:apache"))
    cluster.create("orders", [1], namespace="org:apache")
    cluster.create("orders", [1])
    return cluster


def _set(cluster: Cluster, type_: int, resource: str, name: str, value: str | None) -> str:
    operation = Operation.SET if value is not None else Operation.DELETE
    change = ResourceChange(
        resource_type=type_,
        resource_name=resource,
        changes=(ConfigChange(name, value, operation),),
    )
    (result,) = cluster.do(alter_configs, AlterConfigs(resources=(change,)))
    return result.refusal.code if result.refusal else "NONE"


def _effective(cluster: Cluster, topic: str, name: str = "retention.ms") -> str:
    return topic_config(cluster.context(), cluster.topic(topic), name)


def test_nearest_namespace_counts_below_the_topic_and_above_the_cluster(cluster: Cluster) -> None:
    expected: list[str] = []
    for type_, resource, name in (
        (BROKER, "", "log.retention.ms"),
        (NAMESPACE, "org", "retention.ms"),
        (NAMESPACE, "org:apache", "retention.ms"),
        (TOPIC, "org:apache:orders", "retention.ms"),
    ):
        value = str(len(expected) + 1)
        assert _set(cluster, type_, resource, name, value) == "NONE"
        expected.append(_effective(cluster, "org:apache:orders"))
    assert expected == ["1", "2", "3", "4"]
    assert _effective(cluster, "orders") == "1"


def test_deleted_config_of_a_namespace_uncovers_the_next_level(cluster: Cluster) -> None:
    _set(cluster, NAMESPACE, "org", "retention.ms", "2")
    _set(cluster, NAMESPACE, "org:apache", "retention.ms", "3")
    _set(cluster, NAMESPACE, "org:apache", "retention.ms", None)
    assert _effective(cluster, "org:apache:orders") == "2"


def test_decisions_follow_the_namespace(cluster: Cluster) -> None:
    _set(cluster, NAMESPACE, "org", "min.insync.replicas", "2")
    assert min_isr(cluster.context(), cluster.topic("org:apache:orders")) == 2
    assert min_isr(cluster.context(), cluster.topic("orders")) == 1


def test_namespace_of_a_similar_name_is_another_one(cluster: Cluster) -> None:
    cluster.do(create_namespace, CreateNamespace("org:apach"))
    _set(cluster, NAMESPACE, "org:apach", "retention.ms", "7")
    assert _effective(cluster, "org:apache:orders") != "7"


def test_moved_topic_inherits_from_its_new_namespace(cluster: Cluster) -> None:
    cluster.do(create_namespace, CreateNamespace("com"))
    _set(cluster, NAMESPACE, "org", "retention.ms", "2")
    _set(cluster, NAMESPACE, "com", "retention.ms", "3")
    cluster.do(move_topics, MoveTopics(from_namespace="org:apache", to_namespace="com"))
    assert _effective(cluster, "com:orders") == "3"


def test_deleted_namespace_takes_its_configs_along(cluster: Cluster) -> None:
    _set(cluster, NAMESPACE, "org", "retention.ms", "2")
    _set(cluster, NAMESPACE, "org:apache", "segment.ms", "3")
    cluster.do(delete_namespace, DeleteNamespace(name="org", recursive=True))
    assert [r for r in cluster.records if isinstance(r, ConfigRecord)] == [
        ConfigRecord(
            resource_type=NAMESPACE, resource_name="org:apache", name="segment.ms", value=None
        ),
        ConfigRecord(resource_type=NAMESPACE, resource_name="org", name="retention.ms", value=None),
    ]
    cluster.do(create_namespace, CreateNamespace("org"))
    assert cluster.image.config(NAMESPACE, "org") == {}


@pytest.mark.parametrize(
    ("resource", "name", "value", "code"),
    [
        ("absent", "retention.ms", "1", "INVALID_TOPIC_EXCEPTION"),
        ("", "retention.ms", "1", "INVALID_REQUEST"),
        ("org", "retention.ms", "soon", "INVALID_CONFIG"),
        ("org", "log.retention.ms", "1", "INVALID_CONFIG"),
        ("org", "namespace.max.topics", "-2", "INVALID_CONFIG"),
        ("org", "namespace.max.topics", "many", "INVALID_CONFIG"),
        ("org", "namespace.max.topics", "0", "NONE"),
        ("org", "namespace.max.partitions", "100", "NONE"),
        ("org", "namespace.max.mutations.per.second", "0.5", "NONE"),
    ],
)
def test_what_a_namespace_can_have(
    cluster: Cluster, resource: str, name: str, value: str, code: str
) -> None:
    assert _set(cluster, NAMESPACE, resource, name, value) == code


def test_topic_cannot_have_a_limit_of_a_namespace(cluster: Cluster) -> None:
    assert _set(cluster, TOPIC, "orders", "namespace.max.topics", "1") == "INVALID_CONFIG"


def test_every_default_of_a_namespace_is_valid() -> None:
    for definition in NAMESPACE_CONFIGS.values():
        definition.check(definition.default)


def test_created_topics_answer_their_effective_configs_if_asked(cluster: Cluster) -> None:
    _set(cluster, NAMESPACE, "org", "retention.ms", "2")
    _set(cluster, BROKER, "", "log.roll.hours", "1")
    topic = NewTopic(
        name="new", namespace="org:apache", assignments=assigned([1]), configs=(("flush.ms", "3"),)
    )
    (result,) = cluster.do(create_topics, CreateTopics(topics=(topic,), with_configs=True))
    assert result.configs is not None
    found = {config.name: (config.value, config.source.value) for config in result.configs}
    assert found.keys() == TOPIC_CONFIGS.keys()
    assert found["flush.ms"] == ("3", "topic")
    assert found["retention.ms"] == ("2", "namespace")
    assert found["segment.ms"] == ("3600000", "cluster")
    assert found["segment.bytes"] == (str(2**30), "default")
    (plain,) = cluster.do(create_topics, CreateTopics(topics=(replace(topic, name="other"),)))
    assert plain.configs == ()
