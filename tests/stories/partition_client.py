"""A client that finds the leaders of partitions with Metadata requests, by topic id if told to."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from api.clients.client import MetadataClient
from api.kafka.connection import Connection
from api.kafka.errors import name_of
from api.kafka.messages.metadata import MetadataPartition, MetadataTopic
from api.kafka.messages.records_io import (
    NAMES_UNTIL,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ProducedPartition,
    ProducedPartitionResult,
    ProducedTopic,
    ProduceRequest,
    ProduceResponse,
)
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from records.base import ZERO_UUID, Uuid
from tests.api.broker.records import batch, values
from tests.stories.processes import World, soon


class Partitions:
    """Creates topics and reads and writes partitions, by the addresses that Metadata returns."""

    def __init__(self, client: MetadataClient) -> None:
        self.client = client
        self._connections: dict[tuple[str, int], Connection] = {}

    async def create(self, name: str, *replicas: tuple[int, ...]) -> Uuid:
        """Create a topic with these replicas, one list per partition; return its id."""
        assignments = tuple([Assignment(n, ids) for n, ids in enumerate(replicas)])
        topic = NewTopic(
            name=name.rpartition(":")[2], namespace=name.rpartition(":")[0], assignments=assignments
        )
        (result,) = await self.client.create_topics(CreateTopics(topics=(topic,)))
        assert result.refusal is None, result.refusal
        assert result.topic_id is not None
        return result.topic_id

    async def delete(self, name: str) -> None:
        (result,) = await self.client.delete_topics(DeleteTopics(topics=(name,)))
        assert result.refusal is None, result.refusal

    async def topic(self, name: str) -> MetadataTopic:
        (topic,) = (await self.client.metadata([name])).topics
        return topic

    async def partition(self, name: str, partition: int = 0) -> MetadataPartition | None:
        partitions = (await self.topic(name)).partitions
        return next((p for p in partitions if p.partition_index == partition), None)

    async def led_by(self, name: str, leader: int, isr: set[int], partition: int = 0) -> None:
        """Wait until a broker leads a partition with this ISR."""

        async def is_so() -> bool:
            found = await self.partition(name, partition)
            return found is not None and (found.leader_id, set(found.isr_nodes)) == (leader, isr)

        await soon(is_so)

    async def address(self, broker_id: int) -> tuple[str, int]:
        brokers = (await self.client.metadata([])).brokers
        return next((b.host, b.port) for b in brokers if b.node_id == broker_id)

    async def connection(self, address: tuple[str, int]) -> Connection:
        known = self._connections.get(address)
        if known is None or not known.is_open:
            known = self._connections[address] = await Connection.open(*address, "test")
        return known

    async def close(self) -> None:
        await asyncio.gather(*[connection.close() for connection in self._connections.values()])

    async def try_produce(
        self,
        address: tuple[str, int],
        name: str,
        *some: bytes,
        partition: int = 0,
        topic_id: Uuid = ZERO_UUID,
        acks: int = -1,
    ) -> ProducedPartitionResult:
        connection = await self.connection(address)
        data = ProducedPartition(index=partition, records=batch(*some))
        topic = ProducedTopic(name=name, topic_id=topic_id, partition_data=(data,))
        request = ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=(topic,))
        response = await connection.request(request, ProduceResponse, version=NAMES_UNTIL)
        assert response.responses[0].topic_id == topic_id, "the id is echoed"
        return response.responses[0].partition_responses[0]

    async def produce(self, name: str, *some: bytes, partition: int = 0) -> None:
        """Write to the current leader; retry until the write is accepted."""

        async def is_taken() -> bool:
            found = await self.partition(name, partition)
            if found is None or found.leader_id < 0:
                return False
            address = await self.address(found.leader_id)
            result = await self.try_produce(address, name, *some, partition=partition)
            return name_of(result.error_code) == "NONE"

        await soon(is_taken)

    async def try_fetch(
        self,
        address: tuple[str, int],
        name: str,
        *,
        offset: int = 0,
        partition: int = 0,
        topic_id: Uuid = ZERO_UUID,
        leader_epoch: int = -1,
    ) -> FetchedPartition:
        connection = await self.connection(address)
        wanted = FetchPartition(
            partition=partition,
            current_leader_epoch=leader_epoch,
            fetch_offset=offset,
            partition_max_bytes=1 << 20,
        )
        topic = FetchTopic(topic=name, topic_id=topic_id, partitions=(wanted,))
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(topic,))
        response = await connection.request(request, FetchResponse, version=NAMES_UNTIL)
        assert response.responses[0].topic_id == topic_id, "the id is echoed"
        return response.responses[0].partitions[0]

    async def read(self, name: str, count: int, partition: int = 0) -> list[bytes]:
        """Read from the current leader, until `count` values have been read."""

        async def has_all() -> list[bytes]:
            found = await self.partition(name, partition)
            if found is None or found.leader_id < 0:
                return []
            address = await self.address(found.leader_id)
            fetched = await self.try_fetch(address, name, partition=partition)
            read = values(fetched.records or b"")
            return read if len(read) >= count else []

        found: list[bytes] = await soon(has_all)
        return found

    async def list_offset(
        self, address: tuple[str, int], name: str, timestamp: int, topic_id: Uuid = ZERO_UUID
    ) -> ListedOffset:
        connection = await self.connection(address)
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = ListOffsetsTopic(name=name, topic_id=topic_id, partitions=(asked,))
        response = await connection.request(
            ListOffsetsRequest(topics=(topic,)), ListOffsetsResponse
        )
        return response.topics[0].partitions[0]


@contextlib.asynccontextmanager
async def partitions(world: World) -> AsyncIterator[Partitions]:
    """A client while the body runs."""
    async with world.client() as client:
        some = Partitions(client)
        try:
            yield some
        finally:
            await some.close()
