"""Unmodified Kafka clients with brokers of three nodes, whose leader ends while they run.

They have to find what they find with one service: the brokers follow the next leader, and repeat
what had no answer. A leader that hands over answers all that it has; what a killed one has not
answered, the next one carries out, or answers if it is in the log.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from sqlalchemy import URL

from tests.clients import promises
from tests.clients.processes import outcomes, printed, require, started
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


CLIENTS = [
    each if each == EVERY_RUN else pytest.param(each, marks=HEAVY)
    for each in PROMISING
    if each not in READING
]

BROKERS_WAIT_S = 10.0
"""A busy machine may be longer without a leader than brokers wait; then a program begins anew."""


def promised(client: str) -> dict[str, str]:
    return {each.operation: each.found for each in promises.PROMISES[client]}


@pytest.mark.parametrize("client", CLIENTS)
async def test_client_finds_what_it_finds_with_one_service(nodes: NodesWorld, client: str) -> None:
    require(client)
    topic, address = f"promised-{client}", nodes.brokers[2].ready["listen"]
    program = asyncio.create_task(printed(PROMISING[client], address, topic))
    ended = 0
    while not program.done():
        await nodes.hand_over()
        ended += not program.done()
    assert await program == promised(client)
    assert ended > 0, "the client was faster than every leader"


@pytest.mark.parametrize("client", CLIENTS)
async def test_client_finds_the_same_when_a_leader_is_killed(
    nodes: NodesWorld, client: str
) -> None:
    require(client)
    away_s, attempt = BROKERS_WAIT_S, 0
    while away_s >= BROKERS_WAIT_S:
        topic, attempt = f"killed-{client}-{attempt}", attempt + 1
        program = await _in_the_middle(nodes, client, topic)
        leader = await nodes.end_leader(signal.SIGKILL)
        away_s = await nodes.take_over(leader)
        try:
            found = await outcomes(program)
        except AssertionError:
            if away_s < BROKERS_WAIT_S:
                raise
    assert found == promised(client)


async def _in_the_middle(nodes: NodesWorld, client: str, topic: str) -> asyncio.subprocess.Process:
    """Return the process of a client's program that has made its first topic."""
    program = await started(PROMISING[client], nodes.brokers[2].ready["listen"], topic)
    await soon(lambda: nodes.image().topic_by_name(topic) is not None)
    assert program.returncode is None, "the client was faster than the leader's end"
    return program
