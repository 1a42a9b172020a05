"""A follower fetches from its leader over a real connection."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from api.broker.cluster import Cluster
from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.replica import Replica
from api.broker.replica_fetchers import ReplicaFetchers
from api.broker.replicas import Replicas
from api.kafka.dispatch import DispatchTable
from api.kafka.messages.replicas import (
    FULL,
    LiveBroker,
    UpdatedEndpoint,
    UpdateMetadataRequest,
)
from replay.image.partitions import READ_WRITE
from tests.api.broker.leader import ID, ME, OTHER, Broker, update
from tests.api.broker.records import values
from tests.api.broker.states import leader_and_isr, state, topic_states
from tests.api.broker.test_record_deletions import delete
from tests.api.kafka.listeners import start_listener

PARTITIONS = 2


async def take(replicas: Replicas, leader_epoch: int) -> None:
    fields = {"leader_epoch": leader_epoch, "replicas": (ME, OTHER)}
    states = [state(n, ME, **fields) for n in range(PARTITIONS)]
    request = leader_and_isr(topic_states("a", ID, *states))
    results = await replicas.take_over(request)
    assert {result.error_code for result in results} == {0}


class Pair:
    """A leader of two partitions, and a follower of both."""

    def __init__(self, directory: Path, leader: Broker, port: int) -> None:
        self.leader = leader
        directories = [LogDirectory.open(directory, cluster_id="c", broker_id=OTHER)]
        self.replicas = Replicas(OTHER, directories, Disk(256))
        cluster = Cluster()
        endpoint = UpdatedEndpoint(
            port=port, host="127.0.0.1", listener="PLAINTEXT", security_protocol=0
        )
        cluster.update(
            UpdateMetadataRequest(
                controller_id=0,
                controller_epoch=1,
                broker_epoch=1,
                type=FULL,
                live_brokers=(LiveBroker(id=ME, endpoints=(endpoint,)),),
            )
        )
        self.following = ReplicaFetchers(OTHER, self.replicas, cluster)

    async def lead(self, leader_epoch: int) -> None:
        await take(self.leader.replicas, leader_epoch)
        await take(self.replicas, leader_epoch)
        self.following.refresh()

    async def write(self, partition: int, *values: bytes) -> None:
        assert await self.leader.produce(*values, partition=partition) == "NONE"

    def follower(self, partition: int) -> Replica:
        replica = self.replicas.get("a", partition)
        assert replica is not None
        return replica

    async def has(self, partition: int, end_offset: int) -> None:
        replica = self.follower(partition)
        async with asyncio.timeout(60):
            while replica.log.end_offset != end_offset:
                await replica.moved()


@asynccontextmanager
async def pair(path: Path) -> AsyncIterator[Pair]:
    leader = Broker(path / "leader")
    leader.cluster.update(update("a", ID, READ_WRITE, READ_WRITE))
    listener = await start_listener(DispatchTable(handlers=leader.requests.handlers()))
    both = Pair(path / "follower", leader, listener.port)
    try:
        yield both
    finally:
        await both.following.close()
        await listener.close()


def refusing(error: int) -> Callable[[int], None]:
    def refuse(_: int) -> None:
        raise OSError(error, "the disk refuses")

    return refuse


async def test_follower_copies_what_its_leader_has(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        await both.lead(5)
        await both.write(0, b"a", b"b")
        await both.write(1, b"c")
        await both.has(0, 2)
        await both.has(1, 1)


async def test_partition_whose_disk_refuses_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pair(tmp_path) as both:
        await both.lead(5)
        await both.write(0, b"a")
        await both.has(0, 1)
        with monkeypatch.context() as failing:
            failing.setattr(both.follower(0).log, "truncate_to", refusing(errno.EIO))
            await both.lead(6)
            await both.write(0, b"b")
            await both.write(1, b"c")
            await both.has(1, 1)
            assert both.follower(0).log.end_offset == 1
        await both.has(0, 2)


async def test_follower_deletes_what_its_leader_has_deleted(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        await both.lead(5)
        await both.write(0, b"a", b"b")
        await both.has(0, 2)
        both.leader.live = {ME, OTHER}
        assert await delete(both.leader, 1, timeout_ms=20_000) == ("NONE", 1)
        assert both.follower(0).log.start_offset == 1


async def test_new_follower_starts_where_its_leader_does(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        await take(both.leader.replicas, 5)
        await both.write(0, b"a")
        await both.write(0, b"b")
        leader = both.leader.replicas.get("a", 0)
        assert leader is not None
        leader.log.delete_before(1)
        await both.lead(5)
        await both.has(0, 2)
        follower = both.follower(0)
        assert follower.log.start_offset == 1
        assert values(follower.log.read(1, up_to=2, size_bytes_max=1_000)) == [b"b"]


async def test_follower_without_records_follows_a_leader_that_has_less(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        await take(both.replicas, 4)
        both.follower(0).log.restart_at(50)
        await both.lead(5)
        await both.write(0, b"a")
        await both.has(0, 1)
        assert both.follower(0).log.start_offset == 0
