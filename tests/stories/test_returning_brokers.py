"""A broker that was down catches up with the changes when it restarts."""

import pytest

from api.kafka.errors import name_of
from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from metadata_log.reader.log_reader import LogReader
from records.text import uuid_text
from tests.stories.partition_client import partitions
from tests.stories.processes import World, soon

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_records_outlive_the_leader_that_took_them(world: World) -> None:
    async with partitions(world) as some:
        await some.create("failover", (1, 2, 3))
        await some.produce("failover", b"one", b"two")
        await some.led_by("failover", 1, {1, 2, 3})
        await world.brokers[1].kill()
        await some.led_by("failover", 2, {2, 3})
        await some.produce("failover", b"three")
        assert await some.read("failover", 3) == [b"one", b"two", b"three"]
        await world.start_brokers(1)
        await some.led_by("failover", 2, {1, 2, 3})


async def test_topic_deleted_while_a_broker_was_down_and_created_again(world: World) -> None:
    async with partitions(world) as some:
        old = await some.create("reborn", (3, 1))
        await some.produce("reborn", b"old")
        await some.led_by("reborn", 3, {1, 3})
        assert await world.brokers[3].stop() == 0
        await some.delete("reborn")
        new = await some.create("reborn", (1,))
        await some.produce("reborn", b"new")
        # The old name is no reason to keep, or to serve, what is now another topic's.
        await world.start_brokers(3)
        await soon(lambda: f"{uuid_text(old)}_0" in world.staged(3))
        assert "reborn_0" not in world.folders(3)
        assert f"topic id {uuid_text(old)}) is stale" in world.brokers[3].errors
        assert await some.read("reborn", 1) == [b"new"]
        at = await some.address(3)
        assert name_of((await some.try_fetch(at, "reborn", topic_id=old)).error_code) in (
            "UNKNOWN_TOPIC_ID",
            "INCONSISTENT_TOPIC_ID",
        )
        assert new != old


async def test_topic_recreated_on_the_same_broker_gets_an_empty_folder(world: World) -> None:
    async with partitions(world) as some:
        old = await some.create("again", (2,))
        await some.produce("again", b"old")
        assert await world.brokers[2].stop() == 0
        await some.delete("again")
        await world.start_brokers(2)
        new = await some.create("again", (2,))
        await some.produce("again", b"new")
        assert await some.read("again", 1) == [b"new"]
        metadata = (world.log_dir(2) / "again_0" / "partition.metadata").read_text()
        assert f"id: {uuid_text(new)}\nname: again\npartition: 0\n" in metadata
        assert f"{uuid_text(old)}_0" in world.staged(2)


async def test_partition_reassigned_away_while_its_broker_was_down(world: World) -> None:
    async with partitions(world) as some:
        topic_id = await some.create("moved", (1, 3))
        await some.produce("moved", b"kept")
        await some.led_by("moved", 1, {1, 3})
        assert await world.brokers[3].stop() == 0
        target = PartitionTarget(topic="moved", partition_id=0, broker_ids=(1, 2))
        await some.client.run("reassignments alter", AlterReassignments(partitions=(target,)))
        await some.led_by("moved", 1, {1, 2})
        await world.start_brokers(3)
        await soon(lambda: f"{uuid_text(topic_id)}_0" in world.staged(3))
        assert await some.read("moved", 1) == [b"kept"]


async def test_partition_id_that_grew_back_while_a_replica_was_down(world: World) -> None:
    async with partitions(world) as some:
        topic_id = await some.create("grown", (1, 2), (2, 3))
        await some.produce("grown", b"first life", partition=1)
        await some.led_by("grown", 2, {2, 3}, partition=1)
        assert await world.brokers[3].stop() == 0
        shrink = DeletePartitions(topics=(TopicShrink(topic="grown", partitions=1),))
        (result,) = await some.client.delete_partitions(shrink)
        assert result.refusal is None
        # The replica that is down holds the partition: it cannot be counted as deleted.
        await soon(lambda: "grown_1" not in world.folders(2))
        assert await some.partition("grown", 1) is not None
        await some.client.run("brokers unregister", 3)
        await soon(lambda: world.image().partition(topic_id, 1) is None)
        growth = TopicGrowth(topic="grown", partitions=2, assignments=((2, 3),))
        assert "grown_1" in world.folders(3)
        await world.start_broker(3)
        await world.brokers[3].is_ready()
        await some.client.run("partitions create", CreatePartitions(topics=(growth,)))
        await some.produce("grown", b"second life", partition=1)
        assert await some.read("grown", 1, partition=1) == [b"second life"]
        await some.led_by("grown", 2, {2, 3}, partition=1)
        assert f"{uuid_text(topic_id)}_1" in world.staged(3)


async def test_change_is_waited_for_until_the_last_broker_acts_on_it(world: World) -> None:
    async with partitions(world) as some:
        await some.create("waited", (1, 2))
        waited = await world.ask("brokers", "wait", _last_offset(world))
        assert {1, 2} <= {broker["broker"] for broker in waited["brokers"]}
        assert "waited_0" in world.folders(1) & world.folders(2)
        await some.delete("waited")
        await world.ask("brokers", "wait", _last_offset(world))
        assert "waited_0" not in world.folders(1) | world.folders(2)


def _last_offset(world: World) -> int:
    with LogReader.open(world.log) as reader:
        return reader.end_offset - 1
