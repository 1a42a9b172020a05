"""Namespaces, and topics that move between them."""

import pytest

from controller.authorization.acls import PatternType
from controller.authorization.authorizer import Operation, ResourceType
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeletedConfigs,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.security.acls import AclBinding, CreateAcls, create_acls
from controller.decisions.topics.subscriptions import RegisterSubscription, register_subscription
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveNamespaceRecord, TopicRecord
from replay.image.configs import NAMESPACE, TOPIC
from tests.controller.cluster import Cluster
from tests.controller.effort import lines_run
from tests.replay.builders import uid


@pytest.fixture
def cluster() -> Cluster:
    """Namespaces org, org:apache and com, with org:apache:orders and orders."""
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    for name in ("org:apache", "com"):
        cluster.do(create_namespace, CreateNamespace(name))
    cluster.create("orders", [1], namespace="org:apache", configs=(("retention.ms", "5"),))
    cluster.create("orders", [2])
    return cluster


def _names(cluster: Cluster) -> list[str]:
    return sorted(namespace.name for namespace in cluster.image.namespaces())


def _topics(cluster: Cluster) -> list[str]:
    return sorted(cluster.image.full_name(topic) for topic in cluster.image.topics())


def _move(source: str, target: str, topic: str | None = None) -> MoveTopics:
    return MoveTopics(from_namespace=source, to_namespace=target, topic=topic)


def test_creating_a_namespace_creates_every_tier(cluster: Cluster) -> None:
    result = cluster.do(create_namespace, CreateNamespace("org:apache:kafka:core"))
    assert result.namespaces == ("org:apache:kafka", "org:apache:kafka:core")
    assert all(isinstance(record, NamespaceRecord) for record in cluster.records)
    assert _names(cluster) == [
        "com", "org", "org:apache", "org:apache:kafka", "org:apache:kafka:core",
    ]  # fmt: skip


def test_a_namespace_that_exists_is_refused(cluster: Cluster) -> None:
    assert cluster.refused(create_namespace, CreateNamespace("org")).code == "DUPLICATE_RESOURCE"


@pytest.mark.parametrize(
    "name",
    [
        "",
        ":",
        "a:",
        ":a",
        "a::b",
        ".",
        "a:..",
        "deleting",
        "a:deleting",
        "a_b",
        "a b",
        "ä",
        "a" * 250,
        ":".join("a" * 1_001),
    ],
)
def test_a_bad_name_is_refused(cluster: Cluster, name: str) -> None:
    error = cluster.refused(create_namespace, CreateNamespace(name))
    assert error.code == "INVALID_TOPIC_EXCEPTION"
    assert str(error).startswith("InvalidNamespace")


def test_a_moved_topic_keeps_id_partitions_and_configs(cluster: Cluster) -> None:
    before = cluster.topic("org:apache:orders")
    partitions = cluster.image.partitions(before.topic_id)
    result = cluster.do(move_topics, _move("org:apache", "com", "orders"))
    assert result.topics == ("org:apache:orders",)
    assert [type(record) for record in cluster.records] == [MoveTopicRecord]
    after = cluster.topic("com:orders")
    assert after.topic_id == before.topic_id
    assert cluster.image.partitions(after.topic_id) == partitions
    assert cluster.image.config(2, "com:orders") == {"retention.ms": "5"}
    assert cluster.image.config(2, "org:apache:orders") == {}


def test_all_topics_of_a_namespace_move_together(cluster: Cluster) -> None:
    cluster.create("carts", [1], namespace="org:apache")
    cluster.do(move_topics, _move("org:apache", "com"))
    assert _topics(cluster) == ["com:carts", "com:orders", "orders"]


def test_a_taken_name_moves_nothing_at_all(cluster: Cluster) -> None:
    cluster.create("carts", [1], namespace="org:apache")
    error = cluster.refused(move_topics, _move("org:apache", ""))
    assert error.code == "TOPIC_ALREADY_EXISTS"
    assert _topics(cluster) == ["orders", "org:apache:carts", "org:apache:orders"]


def test_a_reserved_name_moves_nothing(cluster: Cluster) -> None:
    apache = cluster.image.namespace_by_name("org:apache")
    assert apache is not None
    reserved = TopicRecord(
        name="__cluster_metadata", topic_id=uid("7"), namespace_id=apache.namespace_id
    )
    cluster.write([reserved])
    for topic in ("__cluster_metadata", None):
        error = cluster.refused(move_topics, _move("org:apache", "com", topic))
        assert error.code == "INVALID_TOPIC_EXCEPTION"
        assert "reserved for the metadata log" in str(error)


def test_a_name_that_metrics_would_mix_up_moves_nothing(cluster: Cluster) -> None:
    cluster.create("a.b", [1], namespace="com")
    cluster.create("a_b", [1])
    error = cluster.refused(move_topics, _move("", "com", "a_b"))
    assert error.code == "INVALID_TOPIC_EXCEPTION"
    assert "'com:a.b'" in str(error)


def test_the_name_left_behind_is_free_in_every_sense(cluster: Cluster) -> None:
    cluster.create("a.b", [1])
    cluster.do(move_topics, _move("", "com", "a.b"))
    cluster.create("a_b", [1])
    assert _topics(cluster) == ["a_b", "com:a.b", "orders", "org:apache:orders"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (_move("nowhere", "com"), "INVALID_TOPIC_EXCEPTION"),
        (_move("org", "nowhere"), "INVALID_TOPIC_EXCEPTION"),
        (_move("org:apache", "com", "carts"), "UNKNOWN_TOPIC_OR_PARTITION"),
        (_move("com", "com"), "INVALID_REQUEST"),
    ],
)
def test_what_cannot_move_is_refused(cluster: Cluster, request_: MoveTopics, code: str) -> None:
    assert cluster.refused(move_topics, request_).code == code


def test_a_namespace_with_others_below_it_is_deleted_only_recursively(cluster: Cluster) -> None:
    error = cluster.refused(delete_namespace, DeleteNamespace(name="org"))
    assert error.code == "INVALID_REQUEST"
    assert "'org:apache'" in str(error)
    result = cluster.do(delete_namespace, DeleteNamespace(name="org", recursive=True))
    assert result.namespaces == ("org:apache", "org")
    assert result.topics == ("org:apache:orders",)
    assert (_names(cluster), _topics(cluster)) == (["com"], ["orders"])


def _acl(resource_type: ResourceType, name: str, pattern: PatternType) -> AclBinding:
    return AclBinding(
        resource_type=resource_type.value,
        resource_name=name,
        pattern_type=pattern.value,
        principal="User:ann",
        operation=Operation.READ.value,
    )


_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


@pytest.fixture
def guarded(cluster: Cluster) -> Cluster:
    """The same cluster, with ACLs in and beside org."""
    bindings = [
        _acl(ResourceType.NAMESPACE, "org", _LITERAL),
        _acl(ResourceType.TOPIC, "org:apache:orders", _LITERAL),
        _acl(ResourceType.TOPIC, "org:ap", _PREFIXED),
        _acl(ResourceType.NAMESPACE, "com", _LITERAL),
        _acl(ResourceType.TOPIC, "organs", _LITERAL),
        _acl(ResourceType.GROUP, "org:apache", _LITERAL),
    ]
    cluster.do(create_acls, CreateAcls(acls=tuple(bindings)))
    return cluster


def test_a_deletion_takes_everything_in_it_along_and_names_it(guarded: Cluster) -> None:
    rehearsed = guarded.do(
        delete_namespace, DeleteNamespace(name="org", recursive=True, validate_only=True)
    )
    assert guarded.records == ()
    result = guarded.do(delete_namespace, DeleteNamespace(name="org", recursive=True))
    assert result == rehearsed
    assert result.partitions == 1
    assert result.configs == (DeletedConfigs(TOPIC, "org:apache:orders", ("retention.ms",)),)
    assert [acl.resource_name for acl in result.acls] == ["org:ap", "org:apache:orders", "org"]
    left = [acl.resource_name for acl in guarded.image.acls()]
    assert sorted(left) == ["com", "org:apache", "organs"]


def test_a_refused_deletion_says_how_much_would_go(guarded: Cluster) -> None:
    error = guarded.refused(delete_namespace, DeleteNamespace(name="org"))
    assert str(error).endswith("also deletes topics (1), partitions (1), configs (1) and ACLs (3)")


def test_a_move_says_which_acls_count_from_now_on(guarded: Cluster) -> None:
    effects = guarded.do(move_topics, _move("org:apache", "com")).effects
    assert [acl.resource_name for acl in effects.acls_lost] == [
        "org:ap",
        "org:apache:orders",
        "org",
    ]
    assert [acl.resource_name for acl in effects.acls_gained] == ["com"]


def test_a_move_says_which_inherited_configs_change_and_for_how_many_topics(
    cluster: Cluster,
) -> None:
    cluster.create("carts", [1, 2], namespace="org:apache")
    for namespace, name, value in (
        ("com", "retention.ms", "7"),
        ("org", "segment.ms", "3600000"),
        ("org", "min.insync.replicas", "2"),
        ("com", "min.insync.replicas", "2"),
    ):
        change = ResourceChange(
            resource_type=NAMESPACE,
            resource_name=namespace,
            changes=(ConfigChange(name, value),),
        )
        cluster.do(alter_configs, AlterConfigs(resources=(change,)))
    request = MoveTopics(from_namespace="org:apache", to_namespace="com", validate_only=True)
    effects = cluster.do(move_topics, request).effects
    assert cluster.records == ()
    assert (effects.partitions, effects.brokers) == (2, (1, 2))
    # orders sets its retention.ms itself.
    assert [(c.name, c.before, c.after, c.source, c.topics) for c in effects.configs] == [
        ("retention.ms", "604800000", "7", "namespace", 1),
        ("segment.ms", "3600000", "604800000", "default", 2),
    ]


def test_a_move_says_which_subscriptions_match(cluster: Cluster) -> None:
    for group, pattern in (("a", "org:.*"), ("b", "com:.*"), ("c", ".*")):
        cluster.do(register_subscription, RegisterSubscription(group=group, pattern=pattern))
    effects = cluster.do(move_topics, _move("org:apache", "com", "orders")).effects
    assert [s.group for s in effects.subscriptions_lost] == ["a"]
    assert [s.group for s in effects.subscriptions_gained] == ["b"]


def test_namespaces_whose_names_only_begin_alike_stay(cluster: Cluster) -> None:
    cluster.do(create_namespace, CreateNamespace("com-old"))
    cluster.do(delete_namespace, DeleteNamespace(name="com", recursive=True))
    assert [type(record) for record in cluster.records] == [RemoveNamespaceRecord]
    assert _names(cluster) == ["com-old", "org", "org:apache"]


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_the_default_namespace_and_unknown_ones_cannot_be_deleted(
    cluster: Cluster, name: str
) -> None:
    error = cluster.refused(delete_namespace, DeleteNamespace(name=name, recursive=True))
    assert error.code == "INVALID_TOPIC_EXCEPTION"


def test_a_move_costs_the_same_however_many_entries_are_on_all_topics() -> None:
    few, many = _effort_of_a_move(entries=2), _effort_of_a_move(entries=200)
    assert many == few


def _effort_of_a_move(entries: int) -> int:
    """Return the work of a dry run of a move, with this many ACL entries on `*`."""
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.do(create_namespace, CreateNamespace("org"))
    cluster.create("orders", [1])
    on_all = [
        AclBinding(
            resource_type=ResourceType.TOPIC.value,
            resource_name="*",
            principal=f"User:{number}",
            operation=Operation.READ.value,
        )
        for number in range(entries)
    ]
    cluster.do(create_acls, CreateAcls(acls=tuple(on_all)))
    move = MoveTopics(from_namespace="", to_namespace="org", validate_only=True)
    cluster.do(move_topics, move)  # fills caches
    return lines_run(lambda: cluster.do(move_topics, move))
