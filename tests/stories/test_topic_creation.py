"""Brokers with --auto-create-topics create the topics to which clients write."""

import asyncio
import json
import sys

import pytest

from tests.stories.processes import World

pytestmark = pytest.mark.asyncio(loop_scope="session")

BROKERS = (1, 2, 3)


async def restart(world: World, *options: str) -> None:
    assert set(await asyncio.gather(*[world.brokers[each].stop() for each in BROKERS])) == {0}
    for broker_id in BROKERS:
        await world.start_broker(broker_id, *options)
    for broker_id in BROKERS:
        await world.brokers[broker_id].is_ready()


async def test_unmodified_producer_writes_to_a_topic_that_nobody_created(world: World) -> None:
    topic = "never-created"
    await restart(world, "--auto-create-topics")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.stories.kafka_python_new_topic"),
        *(world.brokers[1].ready["listen"], topic),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert json.loads(out) == 0
    (described,) = (await world.ask("topics", "describe", topic))["topics"]
    assert len(described["partitions"]) == 1
    await world.ask("topics", "delete", topic)
    await restart(world)
