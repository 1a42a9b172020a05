"""One cluster for all stories: each uses its own topics, and restores what it changed."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from api.requests.commands import RECORDED
from controller.forks.redecisions import redecide
from metadata_log.reader.log_reader import LogReader
from tests.redecide.report import Report
from tests.stories.processes import World


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service and brokers 1, 2, 3; at the end each of its decisions is repeated and compared.

    It ends with the last story, because idle brokers take a tenth of a core.
    """
    world = World(tmp_path_factory.mktemp("world"))
    try:
        await world.serve()
        await world.start_brokers(1, 2, 3)
        yield world
        with LogReader.open(world.log) as reader:
            report = Report().add("stories", redecide(reader, RECORDED))
        assert report.is_perfect, "\n".join(report.lines())
    finally:
        await world.end()
