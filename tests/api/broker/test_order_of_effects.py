"""Requests of one connection take effect in their order, and a change is there once answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from api.kafka.connection import Connection
from api.kafka.errors import name_of
from api.kafka.large_requests import ITEMS_A_TURN
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from api.kafka.messages.record_deletions import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from api.kafka.messages.records_io import (
    EARLIEST,
    NAMES_UNTIL,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
    ProduceResponse,
)
from api.kafka.messages.topics import CreateTopicsResponse
from api.kafka.topics import creation_request
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.api.broker.records import batch
from tests.api.broker.test_clean_end import broker_of, running
from tests.api.kafka.servers import server

PAIRS = 15


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    host, _, port = url.rpartition("/")[2].rpartition(":")
    connection = await Connection.open(host, int(port), "test")
    yield connection
    await connection.close()


async def create(connection: Connection, name: str) -> None:
    new = NewTopic(name=name, partitions=1, replication_factor=1)
    wanted = creation_request(CreateTopics(topics=(new,)))
    response = await connection.request(wanted, CreateTopicsResponse)
    assert [topic.error_code for topic in response.topics] == [0]


async def leader(connection: Connection, name: str) -> tuple[str, list[int]]:
    request = MetadataRequest(topics=(MetadataRequestTopic(name=name),))
    (topic,) = (await connection.request(request, MetadataResponse)).topics
    return name_of(topic.error_code), [p.leader_id for p in topic.partitions]


async def write(connection: Connection, name: str, *, behind: int = 0) -> int:
    """Write to partition 0 and return the offset; in the request it is behind so many others."""
    missing = [ProducedPartition(index=index, records=None) for index in range(1, behind + 1)]
    data = ProducedPartition(index=0, records=batch(b"one"))
    topic = ProducedTopic(name=name, partition_data=(*missing, data))
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=(topic,))
    response = await connection.request(request, ProduceResponse, version=NAMES_UNTIL)
    result = response.responses[0].partition_responses[-1]
    assert result.error_code == 0
    return result.base_offset


async def delete_below(connection: Connection, name: str, offset: int) -> int:
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    topic = DeleteRecordsTopic(name=name, partitions=(asked,))
    request = DeleteRecordsRequest(topics=(topic,), timeout_ms=5_000)
    response = await connection.request(request, DeleteRecordsResponse)
    return response.topics[0].partitions[0].low_watermark


async def earliest(connection: Connection, name: str) -> int:
    asked = ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
    request = ListOffsetsRequest(topics=(ListOffsetsTopic(name=name, partitions=(asked,)),))
    response = await connection.request(request, ListOffsetsResponse)
    return response.topics[0].partitions[0].offset


async def test_deletion_is_seen_by_the_request_behind_it(tmp_path: Path) -> None:
    async with running(tmp_path) as ready, connected(ready.listen) as broker:
        await create(broker, "a")
        written = await asyncio.gather(*[write(broker, "a") for _ in range(PAIRS)])
        assert written == list(range(PAIRS)), "writes overlap, and keep their order"
        for offset in range(1, PAIRS + 1):
            deleted, seen = await asyncio.gather(
                delete_below(broker, "a", offset), earliest(broker, "a")
            )
            assert (deleted, seen) == (offset, offset)


async def test_write_of_a_large_request_comes_before_that_of_a_small_one_behind_it(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as ready, connected(ready.listen) as broker:
        await create(broker, "a")
        for offset in range(0, 2 * PAIRS, 2):
            large = write(broker, "a", behind=2 * ITEMS_A_TURN)
            assert tuple(await asyncio.gather(large, write(broker, "a"))) == (offset, offset + 1)


async def test_creation_is_seen_by_the_request_behind_it(tmp_path: Path) -> None:
    async with running(tmp_path) as ready, connected(ready.listen) as broker:
        for number in range(PAIRS):
            name = f"topic-{number}"
            _, seen = await asyncio.gather(create(broker, name), leader(broker, name))
            assert seen == ("NONE", [1])


async def test_creation_is_seen_at_the_controller_by_the_request_behind_it(tmp_path: Path) -> None:
    async with server(tmp_path) as at, broker_of(at.port, tmp_path):
        controller = at.client.connection
        for number in range(PAIRS):
            name = f"topic-{number}"
            _, seen = await asyncio.gather(create(controller, name), leader(controller, name))
            assert seen == ("NONE", [1])


@pytest.mark.parametrize("is_same", [True, False])
async def test_answered_change_is_applied_by_the_broker_that_answers(
    tmp_path: Path, is_same: bool
) -> None:
    async with (
        running(tmp_path) as ready,
        connected(ready.listen) as changing,
        connected(ready.listen) as other,
    ):
        for number in range(30):
            await create(changing, f"topic-{number}")
            seen = await leader(changing if is_same else other, f"topic-{number}")
            assert seen == ("NONE", [1])
