"""Partitions added, moved and elected over Kafka's protocol, by a real client and by ours."""

import asyncio
import json
import sys
from pathlib import Path

from api.kafka.errors import name_of
from api.kafka.messages.partitions import (
    PREFERRED,
    UNCLEAN,
    ElectedTopic,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.api.kafka.servers import Server, server


async def _topic(at: Server, brokers: tuple[int, ...] = (1, 2, 3)) -> None:
    for broker_id in brokers:
        await at.register(broker_id, address=("127.0.0.1", at.port))
    orders = NewTopic(name="orders", assignments=(Assignment(0, (1, 2)),))
    await at.client.run("topics create", CreateTopics(topics=(orders,)))


async def test_kafka_python_adds_moves_and_elects(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await _topic(at)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.api.kafka.kafka_python_partitions"),
            f"127.0.0.1:{at.port}",
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
        image = at.service.image
        topic = image.topic_by_full_name("orders")
        assert topic is not None
        first, second = (image.partition(topic.topic_id, index) for index in (0, 1))
        assert first is not None and second is not None
    assert process.returncode == 0
    fewer, moving, all_moving, nothing, needless = json.loads(printed)
    assert fewer == "InvalidPartitionsError"
    assert moving == all_moving
    assert "partition=0" in moving and "'adding_replicas': [3]" in moving
    assert "'removing_replicas': [2]" in moving
    assert "NoReassignmentInProgressError" in nothing
    assert "error_code=84" in needless
    assert (first.replicas, second.replicas) == ((1, 2), (2, 1))


async def _elected(at: Server, election_type: int, *partitions: int) -> list[str]:
    named = ElectedTopic(topic="orders", partitions=partitions)
    response = await at.client.connection.request(
        ElectLeadersRequest(election_type=election_type, topic_partitions=(named,)),
        ElectLeadersResponse,
    )
    errors = [
        name_of(each.error_code)
        for topic in response.replica_election_results
        for each in topic.partition_result
    ]
    return errors or [name_of(response.error_code)]


async def test_each_partition_has_a_result_of_its_own(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await _topic(at)
        found = await _elected(at, PREFERRED, 0, 7)
        assert found == ["ELECTION_NOT_NEEDED", "UNKNOWN_TOPIC_OR_PARTITION"]
        assert await _elected(at, UNCLEAN, 0) == ["ELECTION_NOT_NEEDED"]
        assert await _elected(at, 5, 0) == ["INVALID_REQUEST"]


async def test_elections_of_all_partitions_name_those_that_were_needed(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await _topic(at)
        response = await at.client.connection.request(
            ElectLeadersRequest(topic_partitions=None), ElectLeadersResponse
        )
        assert (response.error_code, response.replica_election_results) == (0, ())
