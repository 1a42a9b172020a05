"""Partitions are removed from a topic while clients run, and while the controller is killed."""

import asyncio

import pytest

from api.kafka.available import available_partitions
from api.kafka.errors import name_of
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from records.errors import UnavailableError
from replay.image.partitions import READ_ONLY
from tests.api.broker.records import values
from tests.stories.partition_client import Partitions, partitions
from tests.stories.processes import World, soon

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Clients:
    """A producer and a consumer that run until they are stopped."""

    def __init__(self, some: Partitions, topic: str) -> None:
        self._some = some
        self._topic = topic
        self.written: dict[int, list[bytes]] = {}
        self.read: dict[int, list[bytes]] = {}
        self.refusals: set[str] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Write to and read from all partitions that allow it, repeatedly."""
        number = 0
        while not stop.is_set():
            topic = await self._some.topic(self._topic)
            for partition in available_partitions(topic, for_write=True):
                number += 1
                await self._write(partition.partition_index, partition.leader_id, number)
            for partition in available_partitions(topic, for_read=True):
                await self._read(partition.partition_index, partition.leader_id)
            await asyncio.sleep(0.02)

    async def _write(self, partition: int, leader: int, number: int) -> None:
        value = b"%d" % number
        result = await self._some.try_produce(
            await self._some.address(leader), self._topic, value, partition=partition
        )
        if result.error_code:
            self.refusals.add(name_of(result.error_code))
        else:
            self.written.setdefault(partition, []).append(value)

    async def _read(self, partition: int, leader: int) -> None:
        fetched = await self._some.try_fetch(
            await self._some.address(leader), self._topic, partition=partition
        )
        if fetched.error_code:
            self.refusals.add(name_of(fetched.error_code))
        else:
            self.read[partition] = values(fetched.records or b"")


async def test_topic_shrinks_with_a_delay_while_clients_run(world: World) -> None:
    async with partitions(world) as some, partitions(world) as others:
        topic_id = await some.create("shrinking", (1, 2), (2, 3), (3, 1))
        for partition in range(3):
            await some.produce("shrinking", b"first", partition=partition)
        stop = asyncio.Event()
        clients = Clients(others, "shrinking")
        running = asyncio.create_task(clients.run(stop))
        try:
            await soon(lambda: all(len(clients.read.get(p, [])) > 3 for p in range(3)))
            await _shrink(some, "shrinking", delay_ms=2_500)
            # READ_ONLY: what is there can be read, and nothing comes to it.
            await soon(lambda: _is_refused(some, "shrinking", 2))
            leaving = await some.partition("shrinking", 2)
            assert leaving is not None
            assert leaving.mode == READ_ONLY
            kept = await some.read("shrinking", 4, partition=2)
            assert clients.read[2] == kept[: len(clients.read[2])]
            # Then it goes, from the cluster and from the disks.
            await soon(lambda: world.image().partition(topic_id, 2) is None)
            await soon(lambda: not _with_partition(world, "shrinking_2"))
            before = len(clients.written[0])
            await soon(lambda: len(clients.written[0]) > before)
        finally:
            stop.set()
            await running
        assert clients.refusals <= {
            "POLICY_VIOLATION",
            "LEADER_NOT_AVAILABLE",
            "NOT_LEADER_OR_FOLLOWER",
            "UNKNOWN_TOPIC_OR_PARTITION",
        }
        for partition_id in (0, 1):
            everything = await some.read("shrinking", 1, partition=partition_id)
            assert everything == [b"first", *clients.written[partition_id]]


async def test_controller_killed_in_the_middle_of_a_shrink(world: World) -> None:
    async with partitions(world) as some:
        topic_id = await some.create("survivor", (1, 2), (2, 3))
        await some.produce("survivor", b"before", partition=1)
        await some.led_by("survivor", 2, {2, 3}, partition=1)
        await _shrink(some, "survivor", delay_ms=2_500, to=1)
        await soon(lambda: _is_refused(some, "survivor", 1))
        leader = await some.partition("survivor", 0)
        assert leader is not None
        address = await some.address(leader.leader_id)
        assert world.service is not None
        await world.service.kill()
        # The brokers go on with what they know.
        result = await some.try_produce(address, "survivor", b"meanwhile")
        assert name_of(result.error_code) == "NONE"
        with pytest.raises(UnavailableError):
            await some.topic("survivor")
        await world.serve()
    async with partitions(world) as some:
        assert world.image().partition(topic_id, 1) is not None
        await soon(lambda: world.image().partition(topic_id, 1) is None)
        await soon(lambda: not _with_partition(world, "survivor_1"))
        assert await some.read("survivor", 1) == [b"meanwhile"]
        # And the cluster takes orders again.
        await some.create("after-the-kill", (1, 2, 3))
        await some.produce("after-the-kill", b"after")
        await some.led_by("after-the-kill", 1, {1, 2, 3})


async def _shrink(some: Partitions, name: str, *, delay_ms: int, to: int = 2) -> None:
    shrink = TopicShrink(topic=name, partitions=to)
    (result,) = await some.client.delete_partitions(
        DeletePartitions(topics=(shrink,), delay_ms=delay_ms)
    )
    assert result.refusal is None, result.refusal


async def _is_refused(some: Partitions, name: str, partition: int) -> bool:
    """Return whether the leader knows that a partition accepts no writes."""
    found = await some.partition(name, partition)
    assert found is not None
    address = await some.address(found.leader_id)
    result = await some.try_produce(address, name, b"late", partition=partition)
    return name_of(result.error_code) == "POLICY_VIOLATION"


def _with_partition(world: World, folder: str) -> list[int]:
    return [broker_id for broker_id in (1, 2, 3) if folder in world.folders(broker_id)]
