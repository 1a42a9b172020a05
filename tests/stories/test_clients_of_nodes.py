"""Unmodified Kafka clients with brokers of three nodes, whose leader ends while they run.

They have to find what they find with one service: the brokers follow the next leader, and repeat by
outcome what had no answer.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from sqlalchemy import URL

from tests.clients import promises
from tests.clients.processes import printed, require
from tests.postgres import postgres_server, text_of
from tests.stories.nodes import NodesWorld
from tests.stories.processes import soon
from tests.stories.test_clients import PROMISING

HEAVY = pytest.mark.heavy
EVERY_RUN = "kafka-python"
"""The client that looks at every answer itself before it goes on."""

READING = {"kcat"}
"""Clients that ask nothing of the controller."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def store() -> Iterator[URL]:
    """A server whose commits are durable."""
    with postgres_server(durable=True) as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nodes(store: URL, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NodesWorld]:
    """Three nodes and brokers 1, 2, 3; at the end the nodes' folders are equal."""
    world = NodesWorld(tmp_path_factory.mktemp("nodes"), text_of(store))
    try:
        await world.serve()
        await world.start_brokers(1, 2, 3)
        yield world
        await soon(world.folders_are_equal)
    finally:
        await world.end()


@pytest.mark.parametrize(
    "client",
    [
        each if each == EVERY_RUN else pytest.param(each, marks=HEAVY)
        for each in PROMISING
        if each not in READING
    ],
)
async def test_client_finds_what_it_finds_with_one_service(nodes: NodesWorld, client: str) -> None:
    require(client)
    topic, address = f"promised-{client}", nodes.brokers[2].ready["listen"]
    program = asyncio.create_task(printed(PROMISING[client], address, topic))
    ended = 0
    while not program.done():
        await nodes.hand_over()
        ended += not program.done()
    assert await program == {each.operation: each.found for each in promises.PROMISES[client]}
    assert ended > 0, "the client was faster than every leader"
