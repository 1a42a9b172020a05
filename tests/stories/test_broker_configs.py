"""Brokers apply config changes while they run."""

from datetime import UTC, datetime

import pytest

from records.text import uuid_text
from tests.stories.partition_client import partitions
from tests.stories.processes import World, soon

pytestmark = pytest.mark.asyncio(loop_scope="session")

DELAY = "delete.stale.topic.delay.ms"


async def test_delay_of_stale_partitions_is_changed_while_they_wait(world: World) -> None:
    async with partitions(world) as some:
        old = await some.create("unwanted", (2,))
        await some.produce("unwanted", b"old")
        await some.led_by("unwanted", 2, {2})
        assert await world.brokers[2].stop() == 0
        await some.delete("unwanted")
        await world.start_brokers(2)
        folder = f"{uuid_text(old)}_0"
        await soon(lambda: folder in world.staged(2))
        # One broker's own value counts for it alone, and at once.
        await world.ask("configs", "set", "broker/3", f"{DELAY}=0")
        assert folder in world.staged(2)
        await world.ask("configs", "set", "broker/2", f"{DELAY}=0")
        await soon(lambda: folder not in world.staged(2))
        for broker_id in (2, 3):
            await world.ask("configs", "delete", f"broker/{broker_id}", DELAY)


async def test_delay_that_is_set_before_the_start_counts_from_the_first_moment(
    world: World,
) -> None:
    async with partitions(world) as some:
        old = await some.create("unwanted", (2,))
        await some.led_by("unwanted", 2, {2})
        await soon(lambda: "unwanted_0" in world.folders(2))
        assert await world.brokers[2].stop() == 0
        await some.delete("unwanted")
        await world.ask("configs", "set", "cluster", f"{DELAY}={400 * 86_400_000}")
        await world.start_brokers(2)
        await soon(lambda: f"{uuid_text(old)}_0" in world.staged(2))
        (line,) = [
            line
            for line in world.brokers[2].errors.splitlines()
            if f"topic id {uuid_text(old)}) is stale" in line
        ]
        year = int(line.rpartition("deleted at ")[2][:4])
        assert year > datetime.now(UTC).year
        await world.ask("configs", "delete", "cluster", DELAY)
