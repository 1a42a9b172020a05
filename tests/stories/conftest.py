"""One cluster for all stories: each takes topics of its own, and brings it back."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.processes import World


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service and brokers 1, 2, 3."""
    world = World(tmp_path_factory.mktemp("world"))
    try:
        await world.serve()
        await world.start_brokers(1, 2, 3)
        yield world
    finally:
        await world.end()
