"""Brokers with many partitions, few descriptors, or a disk that fails."""

import asyncio
import contextlib
import os
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from api.kafka.connection import Connection
from api.kafka.errors import name_of
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from api.kafka.messages.records_io import (
    NAMES_UNTIL,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
    ProduceResponse,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.api.broker.records import batch, values
from tests.stories.partition_client import partitions
from tests.stories.processes import World, soon

PARTITIONS = 1_000
DESCRIPTORS = 128


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A service without brokers."""
    world = World(tmp_path)
    try:
        await world.serve()
        yield world
    finally:
        await world.end()


@contextlib.asynccontextmanager
async def connected(world: World, broker_id: int) -> AsyncIterator[Connection]:
    host, _, port = world.brokers[broker_id].ready["listen"].rpartition(":")
    connection = await Connection.open(host, int(port))
    try:
        yield connection
    finally:
        await connection.close()


async def create_many(world: World) -> None:
    async with world.client() as client:
        topic = NewTopic(name="many", partitions=PARTITIONS, replication_factor=1)
        (result,) = await client.create_topics(CreateTopics(topics=(topic,)))
        assert result.refusal is None, result.refusal


async def led_while_folders_are_made(world: World, broker: Connection) -> set[int]:
    """Send Metadata requests until the broker leads everything; return the numbers of folders
    seen.
    """
    seen = set()
    while True:
        response = await broker.request(MetadataRequest(topics=None), MetadataResponse)
        seen.add(len(os.listdir(world.log_dir(1))))
        led = [p for topic in response.topics for p in topic.partitions if p.leader_id == 1]
        if len(led) == PARTITIONS:
            return seen


async def produced(broker: Connection) -> list[str]:
    """Write to every partition in one request; return the errors."""
    written = tuple(
        [ProducedPartition(index=n, records=batch(b"%d" % n)) for n in range(PARTITIONS)]
    )
    request = ProduceRequest(
        acks=1, timeout_ms=10_000, topic_data=(ProducedTopic(name="many", partition_data=written),)
    )
    response = await broker.request(request, ProduceResponse, version=NAMES_UNTIL)
    return [name_of(p.error_code) for p in response.responses[0].partition_responses]


async def fetched(broker: Connection) -> list[list[bytes]]:
    """Read every partition in one request."""
    wanted = tuple(
        [
            FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1_000)
            for n in range(PARTITIONS)
        ]
    )
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, topics=(FetchTopic(topic="many", partitions=wanted),)
    )
    response = await broker.request(request, FetchResponse, version=NAMES_UNTIL)
    return [values(p.records or b"") for p in response.responses[0].partitions]


async def test_many_partitions_with_few_descriptors(world: World) -> None:
    await world.start_brokers(1, descriptors=DESCRIPTORS)
    async with connected(world, 1) as broker:
        asking = asyncio.create_task(led_while_folders_are_made(world, broker))
        await create_many(world)
        counts = await asking
        assert any(10 < n < PARTITIONS for n in counts), "no answer while folders were made"
        assert set(await produced(broker)) == {"NONE"}
        assert await fetched(broker) == [[b"%d" % n] for n in range(PARTITIONS)]
    # Also for a client that comes now, and after a restart that finds all the folders.
    assert await world.brokers[1].stop() == 0
    await world.start_brokers(1, descriptors=DESCRIPTORS)
    async with connected(world, 1) as broker:
        assert await led_while_folders_are_made(world, broker)
        assert await fetched(broker) == [[b"%d" % n] for n in range(PARTITIONS)]

    known = world.image().broker(1)
    assert known is not None
    assert not known.fenced
    errors = world.brokers[1].errors
    assert len(errors) < 10_000
    assert "Traceback" not in errors


async def test_broker_that_cannot_write_hands_over_until_it_can(world: World) -> None:
    await world.start_brokers(1, 2)
    async with partitions(world) as some:
        await some.create("a", (1, 2))
        await some.produce("a", b"one")
        await some.led_by("a", 1, {1, 2})
        # Every write now fails as on a full disk.
        world.brokers[1].limit(resource.RLIMIT_FSIZE, 1)
        at = await some.address(1)
        refused = await some.try_produce(at, "a", b"lost")
        assert name_of(refused.error_code) == "KAFKA_STORAGE_ERROR"
        await some.led_by("a", 2, {2})
        await some.produce("a", b"two")
        known = world.image().broker(1)
        assert known is not None
        assert known.fenced
        world.brokers[1].limit(resource.RLIMIT_FSIZE, None)
        await some.led_by("a", 2, {1, 2})
        assert await some.read("a", 2) == [b"one", b"two"]


async def test_broker_without_descriptors_is_fenced_until_it_has_some(world: World) -> None:
    await world.start_brokers(1)

    def is_fenced() -> bool:
        known = world.image().broker(1)
        return known is not None and known.fenced

    assert not is_fenced()
    world.brokers[1].limit(resource.RLIMIT_NOFILE, 3)
    await soon(is_fenced)
    world.brokers[1].limit(resource.RLIMIT_NOFILE, None)
    await soon(lambda: not is_fenced())
    errors = world.brokers[1].errors
    assert errors.count("this broker cannot serve") == 1
    assert errors.count("this broker can serve again") == 1
    assert "Traceback" not in errors
