"""Creating and deleting topics."""

from typing import Any

import pytest

from controller.decisions.context.context import PlannedTopic, Settings
from controller.decisions.ids import new_id
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    TopicResult,
    create_topics,
    delete_topics,
)
from records.base import ZERO_UUID, Uuid
from records.configs import ConfigRecord
from records.errors import RequestError
from records.partitions import PartitionRecord
from records.text import uuid_text
from records.topics import RemoveTopicRecord, TopicRecord
from tests.controller.cluster import Cluster, assigned, directory


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    return cluster


def _create(cluster: Cluster, *topics: NewTopic, validate_only: bool = False) -> list[TopicResult]:
    request = CreateTopics(topics=topics, validate_only=validate_only)
    return list(cluster.do(create_topics, request))


def _code(result: TopicResult) -> str:
    return result.refusal.code if result.refusal else "NONE"


def _refused(cluster: Cluster, **fields: Any) -> str:
    """Return the error code with which a topic is refused; check that nothing is written."""
    (result,) = _create(cluster, NewTopic(**{"name": "orders", **fields}))
    assert cluster.records == ()
    return _code(result)


def test_a_topic_is_its_record_its_configs_and_its_partitions_in_this_order(
    cluster: Cluster,
) -> None:
    topic = NewTopic(name="orders", assignments=assigned([2, 3]), configs=(("retention.ms", "9"),))
    (result,) = _create(cluster, topic)
    assert (result.partitions, result.replication_factor) == (1, 2)
    assert result.topic_id is not None
    assert cluster.records == (
        TopicRecord(
            name="orders",
            topic_id=result.topic_id,
            namespace_id=cluster.topic("orders").namespace_id,
        ),
        ConfigRecord(
            resource_type=2,
            resource_name=cluster.full_name("orders"),
            name="retention.ms",
            value="9",
        ),
        PartitionRecord(
            partition_id=0,
            topic_id=result.topic_id,
            replicas=(2, 3),
            isr=(2, 3),
            removing_replicas=(),
            adding_replicas=(),
            leader=2,
            leader_recovery_state=0,
            leader_epoch=0,
            partition_epoch=0,
            directories=(directory(2), directory(3)),
        ),
    )


def test_the_isr_of_a_new_partition_holds_the_active_replicas_only(cluster: Cluster) -> None:
    cluster.fence(2)
    cluster.create("orders", [2, 3, 1])
    assert cluster.partition("orders").isr == (3, 1)
    assert cluster.partition("orders").leader == 3


def test_minus_one_takes_the_servers_defaults(cluster: Cluster) -> None:
    (result,) = _create(cluster, NewTopic(name="orders"))
    assert (result.partitions, result.replication_factor) == (1, 1)


def test_one_refused_topic_does_not_stop_the_others(cluster: Cluster) -> None:
    good, bad = NewTopic(name="good", partitions=2), NewTopic(name="bad", partitions=0)
    assert [_code(r) for r in _create(cluster, bad, good)] == ["INVALID_PARTITIONS", "NONE"]
    assert cluster.topic("good")
    assert cluster.image.topic_by_name("bad") is None


def test_a_request_that_only_validates_writes_nothing(cluster: Cluster) -> None:
    (result,) = _create(cluster, NewTopic(name="orders", partitions=3), validate_only=True)
    assert (_code(result), result.partitions, result.topic_id) == ("NONE", 3, None)
    assert cluster.records == ()


def test_topics_of_one_request_can_be_checked_and_refused_by_name(cluster: Cluster) -> None:
    results = _create(cluster, NewTopic(name="a"), NewTopic(name="b"), NewTopic(name="a"))
    assert [_code(r) for r in results] == ["INVALID_REQUEST", "NONE", "INVALID_REQUEST"]
    assert results[0].refusal is not None
    assert results[0].refusal.message.startswith("MultipleTopicInstructionsInOneBatch")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a" * 250, "with space", "ümlaut", "a/b", "a:b", "a\n", "__cluster_metadata"],
)
def test_a_bad_name_is_refused(cluster: Cluster, name: str) -> None:
    assert _refused(cluster, name=name) == "INVALID_TOPIC_EXCEPTION"


def test_a_name_with_its_namespace_before_it_is_refused_with_a_hint(cluster: Cluster) -> None:
    refusal = _create(cluster, NewTopic(name="org:tx1:a"))[0].refusal
    assert refusal is not None
    assert "give the namespace in its own field" in refusal.message


@pytest.mark.parametrize("name", ["a", "a" * 249, "__a-b", "...", "0", "__cluster_metadata-0"])
def test_a_good_name_is_taken(cluster: Cluster, name: str) -> None:
    assert [_code(r) for r in _create(cluster, NewTopic(name=name))] == ["NONE"]


def test_a_topic_that_exists_is_refused_even_before_its_name_is_looked_at(cluster: Cluster) -> None:
    cluster.create("a.b", [1])
    assert _refused(cluster, name="a.b") == "TOPIC_ALREADY_EXISTS"


def test_a_name_that_metrics_would_mix_up_with_another_is_refused(cluster: Cluster) -> None:
    cluster.create("a.b_c", [1])
    (result,) = _create(cluster, NewTopic(name="a_b.c"))
    assert result.refusal is not None
    assert result.refusal.code == "INVALID_TOPIC_EXCEPTION"
    assert "'a.b_c'" in result.refusal.message


def test_a_deleted_topic_collides_with_nothing(cluster: Cluster) -> None:
    topic = cluster.create("a.b", [1])
    cluster.do(delete_topics, DeleteTopics(topics=(topic.topic_id,)))
    assert _code(_create(cluster, NewTopic(name="a_b"))[0]) == "NONE"


def test_two_names_of_one_request_must_not_collide_either(cluster: Cluster) -> None:
    results = _create(cluster, NewTopic(name="a.b"), NewTopic(name="a_b"))
    assert [_code(r) for r in results] == ["NONE", "INVALID_TOPIC_EXCEPTION"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"assignments": assigned([1]), "replication_factor": 1}, "INVALID_REQUEST"),
        ({"assignments": assigned([1]), "partitions": 1}, "INVALID_REQUEST"),
        ({"assignments": (*assigned([1]), *assigned([2]))}, "INVALID_REPLICA_ASSIGNMENT"),
        ({"assignments": assigned([1], [2])[1:]}, "INVALID_REPLICA_ASSIGNMENT"),
        ({"assignments": assigned([])}, "INVALID_REPLICA_ASSIGNMENT"),
        ({"assignments": assigned([1, 9])}, "INVALID_REPLICA_ASSIGNMENT"),
        ({"assignments": assigned([1, 1])}, "INVALID_REPLICA_ASSIGNMENT"),
        ({"assignments": assigned([1, 2], [1])}, "INVALID_REPLICA_ASSIGNMENT"),
        ({"replication_factor": 0}, "INVALID_REPLICATION_FACTOR"),
        ({"replication_factor": -2}, "INVALID_REPLICATION_FACTOR"),
        ({"replication_factor": 4}, "INVALID_REPLICATION_FACTOR"),
        ({"partitions": 0}, "INVALID_PARTITIONS"),
        ({"partitions": -2}, "INVALID_PARTITIONS"),
        ({"configs": (("retention.ms", None),)}, "INVALID_CONFIG"),
        ({"configs": (("retention.ms", "soon"),)}, "INVALID_CONFIG"),
        ({"configs": (("retention", "1"),)}, "INVALID_CONFIG"),
        ({"namespace": "nowhere"}, "INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_what_cannot_be_created_is_refused(
    cluster: Cluster, fields: dict[str, Any], code: str
) -> None:
    assert _refused(cluster, **fields) == code


def test_replicas_that_are_all_fenced_are_refused(cluster: Cluster) -> None:
    cluster.fence(1)
    assert _refused(cluster, assignments=assigned([1])) == "INVALID_REPLICA_ASSIGNMENT"
    for broker_id in (2, 3):
        cluster.fence(broker_id)
    assert _refused(cluster, partitions=1) == "INVALID_REPLICATION_FACTOR"


def test_a_broker_that_is_shutting_down_gets_no_replica(cluster: Cluster) -> None:
    cluster.create("led-by-3", [3, 1])
    cluster.heartbeat(3, want_shutdown=True)
    assert cluster.broker(3).in_controlled_shutdown
    assert _refused(cluster, replication_factor=3) == "INVALID_REPLICATION_FACTOR"
    assert _refused(cluster, assignments=assigned([3])) == "INVALID_REPLICA_ASSIGNMENT"
    _create(cluster, NewTopic(name="orders", partitions=4, replication_factor=2))
    topic_id = cluster.topic("orders").topic_id
    assert all(3 not in p.replicas for p in cluster.image.partitions(topic_id))


def test_a_request_of_too_many_records_is_refused_as_a_whole(cluster: Cluster) -> None:
    small, large = NewTopic(name="small"), NewTopic(name="large", partitions=10_000)
    error = cluster.refused(create_topics, CreateTopics(topics=(small, large)))
    assert error.code == "POLICY_VIOLATION"
    assert cluster.image.topic_by_name("small") is None


def test_ids_are_random_uuids_of_version_4_that_no_shell_takes_for_an_option() -> None:
    class _Dashes:
        def __init__(self) -> None:
            self.asked = 0

        def randbytes(self, size: int, /) -> bytes:
            self.asked += 1
            # The first draws would be printed with a '-' in front.
            return bytes([0xF8 if self.asked < 3 else 0x01] * size)

    source = _Dashes()
    made = new_id(source)
    assert source.asked == 3
    assert not uuid_text(made).startswith("-")
    assert (made[6] >> 4, made[8] >> 6) == (4, 2)
    assert made != ZERO_UUID


def test_topics_of_two_namespaces_may_share_a_name(cluster: Cluster) -> None:
    for namespace in ("org", "com"):
        cluster.do(create_namespace, CreateNamespace(namespace))
    results = _create(
        cluster,
        NewTopic(name="a.b", namespace="org", configs=(("retention.ms", "1"),)),
        NewTopic(name="a_b", namespace="com"),
        NewTopic(name="a.b"),
    )
    assert [(r.name, _code(r)) for r in results] == [
        ("org:a.b", "NONE"),
        ("com:a_b", "NONE"),
        ("a.b", "NONE"),
    ]
    assert cluster.image.config(2, cluster.full_name("org:a.b")) == {"retention.ms": "1"}


def test_deletion_is_one_record_and_frees_the_name_at_once(cluster: Cluster) -> None:
    first = cluster.create("orders", [1, 2], configs=(("retention.ms", "1"),))
    (result,) = cluster.do(delete_topics, DeleteTopics(topics=("orders",)))
    assert (result.topic_id, result.partitions) == (first.topic_id, 1)
    assert cluster.records == (RemoveTopicRecord(topic_id=first.topic_id),)
    second = cluster.create("orders", [1])
    assert second.topic_id != first.topic_id
    assert cluster.image.config(2, "orders") == {}


def test_a_topic_is_deleted_by_name_or_by_id(cluster: Cluster) -> None:
    topics = [cluster.create(name, [1]) for name in ("a", "b")]
    cluster.do(delete_topics, DeleteTopics(topics=("a", topics[1].topic_id)))
    assert list(cluster.image.topics()) == []


def test_unknown_topics_are_refused_by_what_they_were_named_with(cluster: Cluster) -> None:
    cluster.create("a", [1])
    request = DeleteTopics(topics=("b", Uuid(bytes([5] * 16)), "a"))
    results = cluster.do(delete_topics, request)
    assert [_code(r) for r in results] == ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "NONE"]


def test_a_topic_named_once_by_name_and_once_by_id_is_not_deleted(cluster: Cluster) -> None:
    topic = cluster.create("a", [1])
    results = cluster.do(delete_topics, DeleteTopics(topics=("a", topic.topic_id)))
    assert [_code(r) for r in results] == ["INVALID_REQUEST", "INVALID_REQUEST"]
    assert cluster.records == ()


def test_before_level_17_partitions_have_no_directories() -> None:
    cluster = Cluster({"metadata.version": 16})
    cluster.add_brokers(1)
    cluster.create("orders", [1])
    assert cluster.partition("orders").directories == ()


def test_the_operators_policy_has_the_last_word() -> None:
    asked: list[PlannedTopic] = []

    def policy(topic: PlannedTopic) -> None:
        asked.append(topic)
        if topic.replication_factor < 2:
            raise RequestError("POLICY_VIOLATION", "two replicas at least")

    cluster = Cluster(settings=Settings(cluster_id="test", topic_policy=policy))
    cluster.add_brokers(1, 2)
    wanted = (
        NewTopic(name="thin", partitions=1, replication_factor=1),
        NewTopic(name="wrong", partitions=0),
        NewTopic(name="safe", partitions=3, replication_factor=2, configs=(("retention.ms", "1"),)),
    )
    results = cluster.do(create_topics, CreateTopics(topics=wanted))
    codes = [result.refusal.code if result.refusal else None for result in results]
    assert codes == ["POLICY_VIOLATION", "INVALID_PARTITIONS", None]
    assert [topic.name for topic in asked] == [cluster.full_name(n) for n in ("thin", "safe")]
    assert asked[1] == PlannedTopic(
        name=cluster.full_name("safe"),
        partitions=3,
        replication_factor=2,
        configs={"retention.ms": "1"},
    )
