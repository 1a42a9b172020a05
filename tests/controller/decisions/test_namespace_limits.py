"""Limits of namespaces: topics, partitions, mutations a second, and the limits of a parent."""

import pytest

from controller.authorization.authorizer import Operation, Resource
from controller.authorization.caller import Caller
from controller.decisions.config_definitions.namespaces import (
    MAX_MUTATIONS,
    MAX_PARTITIONS,
    MAX_TOPICS,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.context.context import Settings
from controller.decisions.context.namespace_use import NamespaceUse
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    MoveTopics,
    create_namespace,
    move_topics,
)
from controller.decisions.outcome import Refusal
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration, alter_topics
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    create_topics,
    delete_topics,
)
from controller.steps import Steps
from replay.image.configs import NAMESPACE
from replay.image.metadata import MetadataImage
from tests.controller.cluster import Cluster
from tests.controller.effort import lines_run


class Hidden:
    """An authorizer that allows nobody to describe the namespace org."""

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        return not (operation is Operation.DESCRIBE and resource.name == "org")


@pytest.fixture
def cluster() -> Cluster:
    return _cluster()


def _cluster(settings: Settings | None = None) -> Cluster:
    cluster = Cluster(settings=settings)
    cluster.add_brokers(1)
    for name in ("org:a", "org:b"):
        cluster.do(create_namespace, CreateNamespace(name))
    return cluster


def _limit(cluster: Cluster, namespace: str, name: str, value: object) -> None:
    change = ResourceChange(
        resource_type=NAMESPACE,
        resource_name=namespace,
        changes=(ConfigChange(name, str(value)),),
    )
    (result,) = cluster.do(alter_configs, AlterConfigs(resources=(change,)))
    assert result.refusal is None


def _new(name: str, namespace: str, partitions: int = 1) -> NewTopic:
    return NewTopic(name=name, namespace=namespace, partitions=partitions, replication_factor=1)


def _create(cluster: Cluster, *topics: NewTopic) -> list[Refusal | None]:
    results = cluster.do(create_topics, CreateTopics(topics=topics))
    return [result.refusal for result in results]


def _codes(refusals: list[Refusal | None]) -> list[str | None]:
    return [None if refusal is None else refusal.code for refusal in refusals]


def test_topics_of_one_request_count_together(cluster: Cluster) -> None:
    _limit(cluster, "org:a", MAX_TOPICS, 2)
    found = _create(cluster, *[_new(f"t{n}", "org:a") for n in range(3)], _new("t", "org:b"))
    assert _codes(found) == [None, None, "POLICY_VIOLATION", None]
    assert found[2] is not None
    assert found[2].message == (
        "the limit namespace.max.topics of namespace 'org:a' is reached: "
        "of 2 topics 2 are used, 1 more were asked for"
    )


def test_a_refused_topic_takes_no_room(cluster: Cluster) -> None:
    _limit(cluster, "org:a", MAX_PARTITIONS, 4)
    found = _create(cluster, _new("big", "org:a", 5), _new("a", "org:a", 2), _new("b", "org:a", 2))
    assert _codes(found) == ["POLICY_VIOLATION", None, None]


def test_a_parents_ceiling_bounds_all_its_children(cluster: Cluster) -> None:
    _limit(cluster, "org", MAX_TOPICS, 2)
    _limit(cluster, "org:a", MAX_TOPICS, 100)
    assert _codes(_create(cluster, _new("x", "org:a"), _new("x", "org:b"))) == [None, None]
    (refusal,) = _create(cluster, _new("y", "org:a"))
    assert refusal is not None
    assert "namespace 'org' is reached: of 2 topics 2 are used" in refusal.message


def test_growth_counts_partitions_in_every_way_to_grow(cluster: Cluster) -> None:
    _limit(cluster, "org", MAX_PARTITIONS, 3)
    assert _codes(_create(cluster, _new("x", "org:a", 2))) == [None]
    grow = CreatePartitions(topics=(TopicGrowth(topic="org:a:x", partitions=4),))
    (result,) = cluster.do(create_partitions, grow)
    assert result.refusal is not None and result.refusal.code == "POLICY_VIOLATION"
    alter = AlterTopics(topics=(TopicAlteration(topic="org:a:x", partitions=4),))
    (altered,) = cluster.do(alter_topics, alter)
    assert altered.refusal is not None and altered.refusal.code == "POLICY_VIOLATION"
    grow = CreatePartitions(topics=(TopicGrowth(topic="org:a:x", partitions=3),))
    (result,) = cluster.do(create_partitions, grow)
    assert result.refusal is None


def test_a_deleted_topic_makes_room(cluster: Cluster) -> None:
    _limit(cluster, "org:a", MAX_TOPICS, 1)
    _create(cluster, _new("x", "org:a"))
    cluster.do(delete_topics, DeleteTopics(topics=("org:a:x",)))
    assert _codes(_create(cluster, _new("y", "org:a"))) == [None]
    assert cluster.context().index.uses.of("org") == NamespaceUse(topics=1, partitions=1)


def test_topics_that_move_need_room_where_they_go_but_not_above_both(cluster: Cluster) -> None:
    _create(cluster, _new("x", "org:a"), _new("y", "org:a"), _new("z", ""))
    _limit(cluster, "org", MAX_TOPICS, 2)
    _limit(cluster, "org:b", MAX_TOPICS, 1)
    both = MoveTopics(from_namespace="org:a", to_namespace="org:b")
    error = cluster.refused(move_topics, both)
    assert (error.code, "'org:b'" in str(error)) == ("POLICY_VIOLATION", True)
    one = MoveTopics(from_namespace="org:a", to_namespace="org:b", topic="x")
    assert cluster.do(move_topics, one).topics == ("org:a:x",)
    into = MoveTopics(from_namespace="", to_namespace="org:a", topic="z")
    assert "namespace 'org'" in str(cluster.refused(move_topics, into))


def test_a_limit_below_what_is_used_refuses_only_more(cluster: Cluster) -> None:
    _create(cluster, _new("x", "org:a", 3))
    _limit(cluster, "org:a", MAX_PARTITIONS, 1)
    assert _codes(_create(cluster, _new("y", "org:a"))) == ["POLICY_VIOLATION"]
    assert _codes(_create(cluster, _new("y", "org:b"))) == [None]


def test_minus_one_is_no_limit(cluster: Cluster) -> None:
    for name in (MAX_TOPICS, MAX_PARTITIONS, MAX_MUTATIONS):
        _limit(cluster, "org:a", name, -1)
    assert _codes(_create(cluster, _new("x", "org:a", 50))) == [None]


def test_a_limit_around_a_tenant_is_told_without_its_name_and_counts() -> None:
    cluster = _cluster(Settings(cluster_id="test", authorizer=Hidden()))
    cluster.caller = Caller(principal="User:ann")
    _limit(cluster, "org", MAX_TOPICS, 1)
    _limit(cluster, "org", MAX_MUTATIONS, 1)
    _create(cluster, _new("x", "org:b"))
    (refusal,) = _create(cluster, _new("x", "org:a"))
    assert refusal is not None
    assert refusal.message == (
        "the limit namespace.max.topics of a namespace around 'org:a' is reached"
    )
    cluster.do(delete_topics, DeleteTopics(topics=("org:b:x",)))
    _create(cluster, _new("x", "org:a", 30))
    (refusal,) = _create(cluster, _new("y", "org:a"))
    assert refusal is not None and refusal.code == "THROTTLING_QUOTA_EXCEEDED"
    assert "a namespace around 'org:a' is used up" in refusal.message


def test_mutations_of_children_fill_the_bucket_of_their_parent(cluster: Cluster) -> None:
    _limit(cluster, "org", MAX_MUTATIONS, 2)
    assert _codes(_create(cluster, _new("x", "org:a", 30))) == [None]
    (refusal,) = _create(cluster, _new("x", "org:b"))
    assert refusal is not None
    # 11 s of 2 a second, less 30: a debt of 8 partitions.
    assert (refusal.code, refusal.retry_ms) == ("THROTTLING_QUOTA_EXCEEDED", 4_000)
    assert "the limit namespace.max.mutations.per.second of namespace 'org'" in refusal.message
    assert _codes(_create(cluster, _new("x", ""))) == [None]
    cluster.now_ms += 4_000
    assert _codes(_create(cluster, _new("x", "org:b"))) == [None]


def test_deletions_are_mutations_too(cluster: Cluster) -> None:
    _create(cluster, _new("x", "org:a", 30), _new("y", "org:a"))
    _limit(cluster, "org:a", MAX_MUTATIONS, 1)
    cluster.do(delete_topics, DeleteTopics(topics=("org:a:x",)))
    (result,) = cluster.do(delete_topics, DeleteTopics(topics=("org:a:y",)))
    assert result.refusal is not None
    assert result.refusal.code == "THROTTLING_QUOTA_EXCEEDED"


def test_a_dry_run_takes_nothing(cluster: Cluster) -> None:
    _limit(cluster, "org:a", MAX_MUTATIONS, 1)
    request = CreateTopics(topics=(_new("x", "org:a", 30),), validate_only=True)
    cluster.do(create_topics, request)
    assert _codes(_create(cluster, _new("x", "org:a"))) == [None]


def test_steps_of_a_transaction_take_from_one_bucket(cluster: Cluster) -> None:
    _limit(cluster, "org:a", MAX_MUTATIONS, 1)
    _limit(cluster, "org:a", MAX_TOPICS, 2)

    def create(name: str, partitions: int) -> list[str | None]:
        request = CreateTopics(topics=(_new(name, "org:a", partitions),))
        results = steps.take(lambda context: create_topics(context, request))
        return _codes([result.refusal for result in results])

    steps = Steps(cluster.context())
    assert [create("x", 5), create("y", 20)] == [[None], [None]]
    assert create("z", 1) == ["THROTTLING_QUOTA_EXCEEDED"]
    result = steps.result(None, "t")
    assert [charge.mutations for charge in result.charges] == [25]


def test_a_limit_costs_the_same_however_much_a_namespace_holds() -> None:
    few, many = _effort(10), _effort(300)
    assert many == few


def _effort(topics: int) -> int:
    """Return the work to create a topic in a namespace with limits that already has `topics`
    topics.
    """
    cluster = _cluster()
    for name in (MAX_TOPICS, MAX_PARTITIONS, MAX_MUTATIONS):
        _limit(cluster, "org", name, 100_000)
    _create(cluster, *[_new(f"t{n}", "org:a") for n in range(topics)])
    _create(cluster, _new("first", "org:a"))  # fills caches
    return lines_run(lambda: _create(cluster, _new("new", "org:a")))
