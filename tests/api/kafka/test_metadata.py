"""Metadata responses, and the partitions that they contain for clients."""

from typing import Any

import pytest

from api.kafka.available import available_partitions
from api.kafka.errors import name_of
from api.kafka.messages.metadata import (
    OPERATIONS_UNKNOWN,
    MetadataPartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)
from api.kafka.metadata import ImageCluster, metadata_response
from controller.decisions.context.context import Settings
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    delete_partitions,
)
from records.brokers import BrokerEndpoint
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from tests.controller.cluster import Cluster

LEADER_NOT_AVAILABLE = 5


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Topic a: partition 0 READ_WRITE, 1 READ_ONLY; topic b: 0 READ_WRITE, 1 NONE."""
    enabled = {DELETE_PARTITIONS_ENABLED: "true"}
    made = Cluster(settings=Settings(cluster_id="test", static_configs=enabled))
    made.add_brokers(1, 2)
    for name, delay_ms in (("a", 1_000), ("b", 0)):
        made.create(name, (1, 2), (2, 1))
        shrink = TopicShrink(topic=name, partitions=1)
        made.do(delete_partitions, DeletePartitions(topics=(shrink,), delay_ms=delay_ms))
    return made


def ask(cluster: Cluster, *names: str, strict: bool = False, **fields: Any) -> MetadataResponse:
    asked = tuple([MetadataRequestTopic(name=name) for name in names])
    return metadata_response(
        ImageCluster(cluster.image),
        MetadataRequest(topics=asked, **fields),
        version=9,
        cluster_id="test",
        strict=strict,
    )


def errors(response: MetadataResponse) -> list[list[int]]:
    return [[p.error_code for p in topic.partitions] for topic in response.topics]


def test_client_without_modes_sees_read_only_as_usual_and_none_without_leader(
    cluster: Cluster,
) -> None:
    assert errors(ask(cluster, "a", "b")) == [[0, 0], [0, LEADER_NOT_AVAILABLE]]


def test_strict_rule_hides_read_only_too(cluster: Cluster) -> None:
    expected = [[0, LEADER_NOT_AVAILABLE], [0, LEADER_NOT_AVAILABLE]]
    assert errors(ask(cluster, "a", "b", strict=True)) == expected


def test_client_that_knows_modes_gets_all_of_them(cluster: Cluster) -> None:
    response = ask(cluster, "a", "b", strict=True, knows_modes=True)
    modes = [[p.mode for p in topic.partitions] for topic in response.topics]
    assert modes == [[READ_WRITE, READ_ONLY], [READ_WRITE, NONE]]
    # A partition of mode NONE has no leader in the image either.
    assert errors(response) == [[0, 0], [0, LEADER_NOT_AVAILABLE]]


def test_all_topics_are_asked_for_with_null_and_in_the_oldest_version_with_none(
    cluster: Cluster,
) -> None:
    source = ImageCluster(cluster.image)

    def names(request: MetadataRequest, version: int) -> list[str | None]:
        response = metadata_response(source, request, version=version, cluster_id=None)
        return [topic.name for topic in response.topics]

    assert names(MetadataRequest(topics=None), 9) == ["a", "b"]
    assert names(MetadataRequest(topics=()), 9) == []
    assert names(MetadataRequest(topics=()), 0) == ["a", "b"]


def test_unknown_topics_are_reported_by_name_and_by_id(cluster: Cluster) -> None:
    assert [topic.error_code for topic in ask(cluster, "nowhere").topics] == [3]
    request = MetadataRequest(topics=(MetadataRequestTopic(name=None),))
    response = metadata_response(
        ImageCluster(cluster.image),
        request,
        version=12,
        cluster_id=None,
    )
    assert [topic.error_code for topic in response.topics] == [100]


def test_nodes_are_the_live_brokers_and_one_of_them_stands_for_the_controller() -> None:
    made = Cluster(settings=Settings(cluster_id="test"))
    point = BrokerEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0)
    made.add_brokers(1, 2, 3, end_points=(point,))
    made.fence(3)
    answers = [ask(made) for _ in range(50)]
    assert {tuple(broker.node_id for broker in told.brokers) for told in answers} == {(1, 2)}
    assert {told.controller_id for told in answers} == {1, 2}


def test_without_a_live_broker_there_is_no_node_and_no_controller() -> None:
    made = Cluster(settings=Settings(cluster_id="test"))
    assert (ask(made).brokers, ask(made).controller_id) == ((), -1)


def _topic(*modes: int, leader: int = 1) -> MetadataTopic:
    partitions = [
        MetadataPartition(partition_index=n, leader_id=leader, mode=mode)
        for n, mode in enumerate(modes)
    ]
    return MetadataTopic(name="a", partitions=tuple(partitions))


def test_available_partitions_filter_by_mode_and_use() -> None:
    topic = _topic(READ_WRITE, READ_ONLY, NONE)

    def ids(**use: bool) -> list[int]:
        return [p.partition_index for p in available_partitions(topic, **use)]

    assert ids(for_write=True) == [0]
    assert ids(for_read=True) == [0, 1]
    assert ids(for_read=True, for_write=True) == [0]
    assert ids() == [0, 1, 2]


def test_available_partitions_have_a_leader() -> None:
    assert available_partitions(_topic(READ_WRITE, leader=-1), for_read=True) == ()


def test_authorized_operations_are_told_to_who_asks_for_them(cluster: Cluster) -> None:
    told = ask(
        cluster,
        "a",
        "absent",
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    # Kafka's own numbers without an authorizer.
    assert told.cluster_authorized_operations == 8096
    assert [topic.topic_authorized_operations for topic in told.topics] == [
        3576,
        OPERATIONS_UNKNOWN,
    ]
    not_asked = ask(cluster, "a")
    assert not_asked.cluster_authorized_operations == OPERATIONS_UNKNOWN
    assert not_asked.topics[0].topic_authorized_operations == OPERATIONS_UNKNOWN


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("not-there", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("space:not-there", "UNKNOWN_TOPIC_OR_PARTITION"),
        *[(n, "INVALID_TOPIC_EXCEPTION") for n in ("", "..", "a b", "a/b", "ü", "x" * 250)],
        *[(n, "INVALID_TOPIC_EXCEPTION") for n in (":a", "a_b:c", "deleting:c", "a:b c")],
    ],
)
def test_topic_that_can_never_exist_is_not_looked_for_again(
    cluster: Cluster, name: str, code: str
) -> None:
    (topic,) = ask(cluster, name).topics
    assert (topic.name, name_of(topic.error_code)) == (name, code)
