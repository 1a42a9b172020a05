"""Clients with a service and three brokers: the tables in docs/clients.md."""

import pytest

from api.clients.client import MetadataClient
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.clients import promises
from tests.clients.documented import table
from tests.clients.processes import printed, require
from tests.stories.processes import World

PROGRAMS = {
    "kafka-python": "kafka_python_client.py",
    "librdkafka": "librdkafka_client.py",
    "kafkajs": "kafkajs_client.js",
    "platformatic": "platformatic_client.mjs",
    "kcat": "kcat.sh",
}

PROMISING = {
    "kafka-python": "kafka_python_promises.py",
    "librdkafka": "librdkafka_promises.py",
    "aiokafka": "aiokafka_promises.py",
    "kafkajs": "kafkajs_promises.js",
    "platformatic": "platformatic_promises.mjs",
    "kcat": "kcat_promises.sh",
}

EVERY_RUN = {"kafka-python", "aiokafka", "kafkajs"}
"""Those that take less than a second of CPU, or stand for a suite that the package lacks."""

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    "client",
    [each if each == "kcat" else pytest.param(each, marks=pytest.mark.heavy) for each in PROGRAMS],
)
async def test_client_does_what_the_table_says(world: World, client: str) -> None:
    require(client)
    address = world.brokers[2].ready["listen"]
    if client == "kcat":
        await create_topic(address, "of-kcat")
    found = await printed(PROGRAMS[client], address, f"of-{client}")
    assert found == table("client", "create")[client]


@pytest.mark.parametrize(
    "client",
    [
        each if each in EVERY_RUN else pytest.param(each, marks=pytest.mark.heavy)
        for each in PROMISING
    ],
)
async def test_client_finds_what_its_documentation_promises(world: World, client: str) -> None:
    require(client)
    address = world.brokers[2].ready["listen"]
    topic = f"promised-{client}"
    if client == "kcat":
        await create_topic(address, topic)
    expected = {each.operation: each.found for each in promises.PROMISES[client]}
    assert await printed(PROMISING[client], address, topic) == expected


async def test_promises_stand_in_the_document() -> None:
    assert promises.written() in promises.DOCUMENT.read_text(), (
        "run python -m tests.clients.promises"
    )


async def test_each_promise_that_is_not_kept_is_explained() -> None:
    for each in [promise for some in promises.PROMISES.values() for promise in some]:
        assert (each.here is None) == (each.why is None), each.operation


async def create_topic(address: str, topic: str) -> None:
    """Create a topic of one partition, for clients that cannot."""
    async with await MetadataClient.connect(f"kafka://{address}") as client:
        new = NewTopic(name=topic, partitions=1, replication_factor=1)
        await client.create_topics(CreateTopics(topics=(new,)))


async def test_table_has_every_client() -> None:
    assert list(table("client", "create")) == list(PROGRAMS)
