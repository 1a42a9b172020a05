"""Requests about the cluster: its nodes, its quorum, its topics page by page, its resources."""

from pathlib import Path
from typing import Any

import pytest

from api.kafka.errors import name_of
from api.kafka.messages.cluster import (
    CONTROLLERS,
    DescribeClusterRequest,
    DescribeClusterResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from api.kafka.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumPartition,
    QuorumTopic,
)
from api.kafka.messages.topic_partitions import (
    AskedTopic,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PartitionCursor,
)
from api.kafka.quorum import METADATA_TOPIC
from controller.authorization.authorizer import Operation, topic_resource
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.topics.topics import CreateTopics, NewTopic
from replay.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC
from tests.api.guarded import guarded
from tests.api.kafka.servers import CLUSTER_ID, Server, server


async def _create(at: Server, **partitions: int) -> None:
    new = [NewTopic(name=n, partitions=p, replication_factor=1) for n, p in partitions.items()]
    await at.client.run("topics create", CreateTopics(topics=tuple(new)))


async def _describe(
    at: Server, *names: str, limit: int = 2_000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    start = (
        None if cursor is None else PartitionCursor(topic_name=cursor[0], partition_index=cursor[1])
    )
    request = DescribeTopicPartitionsRequest(
        topics=tuple([AskedTopic(name=name) for name in names]),
        response_partition_limit=limit,
        cursor=start,
    )
    return await at.client.connection.request(request, DescribeTopicPartitionsResponse)


async def test_pages_of_partitions_join_to_all_of_them(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, a=3, b=1, c=4)
        seen: list[tuple[str | None, int]] = []
        cursor: tuple[str, int] | None = None
        pages = 0
        while True:
            page = await _describe(at, limit=2, cursor=cursor)
            found = [(t.name, p.partition_index) for t in page.topics for p in t.partitions]
            assert len(found) <= 2
            seen, pages = seen + found, pages + 1
            if page.next_cursor is None:
                break
            cursor = page.next_cursor.topic_name, page.next_cursor.partition_index
    expected = {"a": 3, "b": 1, "c": 4}
    assert seen == [(name, i) for name, count in expected.items() for i in range(count)]
    assert pages == 4


async def test_partition_is_described_with_its_replicas_and_operations(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, a=1)
        (topic,) = (await _describe(at, "a")).topics
        (partition,) = topic.partitions
        assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (
            1,
            (1,),
            (1,),
        )
        assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())
        assert topic.topic_authorized_operations > 0
        (unknown,) = (await _describe(at, "b")).topics
        assert name_of(unknown.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
        for wrong in (_describe(at, "a", limit=0), _describe(at, "a", cursor=("a", -1))):
            (refused,) = (await wrong).topics
            assert name_of(refused.error_code) == "INVALID_REQUEST"


async def test_all_topics_are_those_that_the_caller_may_see(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(Operation.DESCRIBE, topic_resource("b"))}
        assert [topic.name for topic in (await _describe(at)).topics] == ["b"]


async def test_cluster_is_described_with_its_brokers(tmp_path: Path) -> None:
    async def described(**fields: Any) -> DescribeClusterResponse:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True, **fields)
        return await at.client.connection.request(request, DescribeClusterResponse)

    async with server(tmp_path) as at:
        epoch = await at.register(1)
        await at.register(2)
        await at.beat(1, epoch, want_fence=True)
        response = await described()
        assert (response.cluster_id, response.controller_id) == (CLUSTER_ID, 2)
        assert [(node.broker_id, node.is_fenced) for node in response.brokers] == [(2, False)]
        assert response.cluster_authorized_operations > 0
        fenced = await described(include_fenced_brokers=True)
        assert [node.is_fenced for node in fenced.brokers] == [True, False]
        refused = await described(endpoint_type=CONTROLLERS)
        assert name_of(refused.error_code) == "UNSUPPORTED_ENDPOINT_TYPE"


async def test_quorum_is_the_service_with_brokers_that_observe(tmp_path: Path) -> None:
    async def described(name: str) -> DescribeQuorumResponse:
        asked = QuorumTopic(topic_name=name, partitions=(QuorumPartition(partition_index=0),))
        request = DescribeQuorumRequest(topics=(asked,))
        return await at.client.connection.request(request, DescribeQuorumResponse)

    async with server(tmp_path) as at:
        await at.register(1)
        (quorum,) = (await described(METADATA_TOPIC)).topics[0].partitions
        end = at.service.image.provenance.next_offset
        node = at.service.settings.node_id
        assert (quorum.leader_id, quorum.leader_epoch) == (node, at.service.controller_epoch)
        assert quorum.high_watermark == end
        (voter,), (observer,) = quorum.current_voters, quorum.observers
        assert (voter.replica_id, voter.log_end_offset) == (node, end)
        assert observer.replica_id == 1
        assert 0 < observer.log_end_offset <= end
        (unknown,) = (await described("a")).topics[0].partitions
        assert name_of(unknown.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
        nothing = DescribeQuorumRequest(topics=())
        response = await at.client.connection.request(nothing, DescribeQuorumResponse)
        assert name_of(response.error_code) == "INVALID_REQUEST"


@pytest.mark.parametrize(
    ("types", "version", "expected"),
    [
        ((), 1, [(TOPIC, "a"), (BROKER, "1"), (8, "1"), (CLIENT_METRICS, "m"), (GROUP, "g")]),
        ((GROUP, TOPIC), 1, [(GROUP, "g"), (TOPIC, "a")]),
        ((), 0, [(CLIENT_METRICS, "m")]),
    ],
)
async def test_resources_with_configs_are_listed_by_type(
    tmp_path: Path, types: tuple[int, ...], version: int, expected: list[tuple[int, str]]
) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, a=1)
        changes = [
            ResourceChange(
                resource_type=kind,
                resource_name=name,
                changes=(ConfigChange(name=key, value="50000"),),
            )
            for kind, name, key in (
                (CLIENT_METRICS, "m", "interval.ms"),
                (GROUP, "g", "consumer.session.timeout.ms"),
            )
        ]
        await at.client.run("configs alter", AlterConfigs(resources=tuple(changes)))
        response = await at.client.connection.request(
            ListConfigResourcesRequest(resource_types=types),
            ListConfigResourcesResponse,
            version=version,
        )
    found = [(each.resource_type, each.resource_name) for each in response.config_resources]
    assert found == expected


async def test_type_without_a_list_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        request = ListConfigResourcesRequest(resource_types=(99,))
        response = await at.client.connection.request(request, ListConfigResourcesResponse)
        assert name_of(response.error_code) == "UNSUPPORTED_VERSION"


async def test_broker_is_unregistered_once(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        codes = []
        for _ in range(2):
            request = UnregisterBrokerRequest(broker_id=1)
            response = await at.client.connection.request(request, UnregisterBrokerResponse)
            codes.append(name_of(response.error_code))
        assert codes == ["NONE", "BROKER_ID_NOT_REGISTERED"]
        assert at.service.image.broker(1) is None
