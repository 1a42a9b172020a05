"""The stories of seeds 000 and 003 on three nodes whose leader ends at each step.

A leader ends in turn by SIGTERM, which hands over, and by SIGKILL, while a step runs.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import URL

from api.clients.client import MetadataClient
from api.clients.reconnecting_client import ReconnectingClient
from metadata_log.reader.log_reader import LogReader
from records.topics import TopicRecord
from tests.postgres import new_database, postgres_server, text_of
from tests.samples import cases, sampled
from tests.stories.nodes import NodesWorld
from tests.stories.partition_client import Partitions
from tests.stories.processes import World, soon
from tests.stories.seed_stories import STORIES, Stage, Step

WAYS = (signal.SIGTERM, signal.SIGKILL)
DELAYS_S = (0.0, 0.002, 0.005, 0.01, 0.05)
"""From the beginning of a step to the end of the leader."""

PLAYS = [(seed, first) for seed in STORIES for first in (1, 0)]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def server() -> Iterator[URL]:
    """A server whose commits are durable."""
    with postgres_server(durable=True) as url:
        yield url


@contextlib.asynccontextmanager
async def staged(world: World) -> AsyncIterator[Stage]:
    """Serve, start the brokers, and connect."""
    await world.serve()
    await world.start_brokers(1, 2, 3)
    async with contextlib.AsyncExitStack() as closing:
        client = await closing.enter_async_context(ReconnectingClient(world.server))
        broker = f"kafka://{world.brokers[1].ready['listen']}"
        there = await closing.enter_async_context(await MetadataClient.connect(broker))
        records = Partitions(there)
        closing.push_async_callback(records.close)
        yield Stage(world, client, records)


async def while_leaders_end(stage: Stage, story: tuple[Step, ...], first: int) -> None:
    """Carry a story out; at each step, or at some of them, the leader ends.

    Args:
        first: The first of the ways in which leaders end, in turn.
    """
    assert isinstance(stage.world, NodesWorld)
    random, ways = Random(first), islice(cycle(WAYS), first, None)
    for number, step in enumerate(story):
        running = asyncio.create_task(step(stage))
        if number % cases(1, 6) == 0:
            await asyncio.sleep(random.choice(DELAYS_S))
            await stage.world.fail_over(next(ways))
        await running


@sampled
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("seed", "first"), PLAYS[: cases(len(PLAYS), 1)])
async def test_story_is_the_same_wherever_leaders_end(
    server: URL, tmp_path: Path, seed: str, first: int
) -> None:
    with new_database(server) as url:
        world = NodesWorld(tmp_path, text_of(url))
        try:
            async with staged(world) as stage:
                await while_leaders_end(stage, STORIES[seed], first)
                await soon(world.folders_are_equal)
                assert created(world) == stage.topic_ids
        finally:
            await world.end()


@pytest.mark.heavy
@pytest.mark.parametrize("seed", STORIES)
async def test_story_is_that_of_one_service(tmp_path: Path, seed: str) -> None:
    world = World(tmp_path)
    try:
        async with staged(world) as stage:
            for step in STORIES[seed]:
                await step(stage)
            assert created(world) == stage.topic_ids
    finally:
        await world.end()


def created(world: World) -> list[bytes]:
    """Return the ids of all topics that were ever created, in order."""
    with LogReader.open(world.log) as reader:
        rows = [row.payload for batch in reader.batches() for row in batch.rows]
    return [each.topic_id for each in rows if isinstance(each, TopicRecord)]
