"""AlterTopics: each instruction for a topic."""

from typing import Any

import pytest

from controller.decisions.configs.changes import ConfigChange
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.alterations import (
    AlterationResult,
    AlterTopics,
    Instruction,
    TopicAlteration,
    alter_topics,
)
from controller.decisions.topics.partition_removal import DELETE_PARTITIONS_ENABLED
from records.configs import ConfigRecord
from tests.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3])
    return cluster


def _alter(cluster: Cluster, *topics: dict[str, Any], **fields: Any) -> list[AlterationResult]:
    alterations = [TopicAlteration(**{"topic": "orders", **topic}) for topic in topics]
    return list(cluster.do(alter_topics, AlterTopics(topics=tuple(alterations), **fields)))


def _refused(result: AlterationResult) -> tuple[str, str]:
    assert result.refusal is not None
    return result.refusal.code, result.refusal.message


@pytest.mark.parametrize(
    "two",
    [
        {"partitions": 3, "replication_factor": 3},
        {"partitions": 3, "configs": (ConfigChange("retention.ms", "1"),)},
        {"replication_factor": 3, "assignments": (Assignment(0, (1, 3)),)},
        {"configs": (ConfigChange("retention.ms", "1"),), "assignments": (Assignment(0, (1,)),)},
    ],
)
def test_two_kinds_of_change_are_refused_by_their_name(
    cluster: Cluster, two: dict[str, Any]
) -> None:
    (result,) = _alter(cluster, two)
    code, message = _refused(result)
    assert code == "INVALID_REQUEST"
    assert message.startswith("MultipleInstructionsForOneTopic: ")
    assert cluster.records == ()


def test_zero_is_a_number_and_not_left_out(cluster: Cluster) -> None:
    (none,) = _alter(cluster, {})
    code, message = _refused(none)
    assert code == "INVALID_REQUEST"
    assert message.startswith("the request names no change to orders; give partitions, ")
    for name in ("partitions", "replication_factor"):
        (zero,) = _alter(cluster, {name: 0})
        assert "the request names no change" not in _refused(zero)[1]


def test_a_topic_named_twice_is_refused_by_its_name(cluster: Cluster) -> None:
    topic_id = cluster.topic("orders").topic_id
    results = _alter(cluster, {"partitions": 3}, {"topic": topic_id, "partitions": 4})
    for result in results:
        code, message = _refused(result)
        assert code == "INVALID_REQUEST"
        assert message.startswith("MultipleTopicInstructionsInOneBatch: ")
    assert cluster.records == ()


def test_fewer_partitions_are_refused_by_their_name_and_the_way_to_allow_them(
    cluster: Cluster,
) -> None:
    (result,) = _alter(cluster, {"partitions": 1})
    code, message = _refused(result)
    assert code == "INVALID_PARTITIONS"
    assert message.startswith("DecreasePartitionsNotAllowed: ")
    assert f"{DELETE_PARTITIONS_ENABLED}=true" in message


def test_a_topic_on_the_move_is_refused_by_its_name(cluster: Cluster) -> None:
    _alter(cluster, {"assignments": (Assignment(0, (1, 3)),)})
    (result,) = _alter(cluster, {"partitions": 3})
    code, message = _refused(result)
    assert code == "REASSIGNMENT_IN_PROGRESS"
    assert message.startswith("ReassignPartitionsInProgress: ")


def test_the_answer_says_what_was_done(cluster: Cluster) -> None:
    cluster.create("carts", [1])
    cluster.create("mails", [1])
    results = _alter(
        cluster,
        {"partitions": 3},
        {"topic": "carts", "replication_factor": 2},
        {"topic": "mails", "configs": (ConfigChange("retention.ms", "1"),)},
        {"topic": "gone", "partitions": 3},
    )
    assert [result.instruction for result in results] == [
        Instruction.GROWTH,
        Instruction.REPLICATION_FACTOR,
        Instruction.CONFIGS,
        None,
    ]
    assert results[0].topic_id == cluster.topic("orders").topic_id


def test_a_refused_item_leaves_nothing_behind_and_stops_no_other(cluster: Cluster) -> None:
    cluster.create("carts", [1])
    moves = (Assignment(0, (3,)), Assignment(1, (9,)))
    results = _alter(
        cluster,
        {"assignments": moves},
        {"topic": "carts", "configs": (ConfigChange("retention.ms", "1"),)},
    )
    assert _refused(results[0])[0] == "INVALID_REPLICA_ASSIGNMENT"
    assert results[1].refusal is None
    assert [type(record) for record in cluster.records] == [ConfigRecord]


def test_validate_only_writes_nothing(cluster: Cluster) -> None:
    (result,) = _alter(cluster, {"partitions": 5}, validate_only=True)
    assert (result.refusal, result.instruction) == (None, Instruction.GROWTH)
    assert cluster.records == ()


def test_more_replicas_go_to_racks_not_used_yet() -> None:
    cluster = Cluster()
    for broker_id, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b")):
        cluster.add_brokers(broker_id, rack=rack)
    cluster.create("orders", [1], [3])
    _alter(cluster, {"replication_factor": 2})
    assert cluster.partition("orders", 0).adding_replicas in ((3,), (4,))
    assert cluster.partition("orders", 1).adding_replicas in ((1,), (2,))


def test_replicas_out_of_sync_go_first_and_the_preferred_leader_stays() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2, 3], [1, 2, 3])
    cluster.fence(2)
    _alter(cluster, {"replication_factor": 2})
    assert [cluster.partition("orders", n).replicas for n in (0, 1)] == [(1, 3), (1, 3)]


def test_no_more_replicas_than_brokers(cluster: Cluster) -> None:
    for wrong in (0, -2, 4):
        (result,) = _alter(cluster, {"replication_factor": wrong})
        assert _refused(result)[0] == "INVALID_REPLICATION_FACTOR"


def test_a_delay_that_cannot_be_refuses_the_request(cluster: Cluster) -> None:
    request = AlterTopics(
        topics=(TopicAlteration(topic="orders", partitions=1),), delete_partitions_delay_ms=-1
    )
    assert cluster.refused(alter_topics, request).code == "INVALID_REQUEST"


def test_an_unknown_placement_refuses_the_request(cluster: Cluster) -> None:
    request = AlterTopics(topics=(TopicAlteration(topic="orders", partitions=4),), placement="best")
    error = cluster.refused(alter_topics, request)
    assert error.code == "INVALID_REQUEST"
    assert "striped" in str(error)


def test_too_many_new_partitions_refuse_the_request(cluster: Cluster) -> None:
    request = AlterTopics(topics=(TopicAlteration(topic="orders", partitions=20_000),))
    assert cluster.refused(alter_topics, request).code == "POLICY_VIOLATION"


def test_instructions_are_called_as_the_documents_call_them() -> None:
    """The names of the instructions do not change: scripts read them in the JSON of
    `metalog topics alter`.
    """
    assert [instruction.value for instruction in Instruction] == [
        "growth",
        "shrink",
        "reassignment",
        "replication factor",
        "configs",
    ]
