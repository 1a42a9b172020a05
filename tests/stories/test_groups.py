"""Consumers with a group id, against real brokers: the table in docs/clients.md."""

import pytest

from api.kafka.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from tests.clients.documented import table
from tests.clients.processes import printed, require
from tests.stories.partition_client import partitions
from tests.stories.processes import World

PROGRAMS: dict[str, tuple[str, ...]] = {
    "librdkafka": ("librdkafka_groups.py",),
    "librdkafka, `group.protocol=consumer`": ("librdkafka_groups.py", "consumer"),
    "kafka-python": ("kafka_python_groups.py",),
    "aiokafka": ("aiokafka_groups.py",),
    "kafkajs": ("kafkajs_groups.js",),
    "platformatic": ("platformatic_groups.mjs",),
    "kcat": ("kcat_groups.sh",),
}

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("client", PROGRAMS)
async def test_subscribers_end_at_once_and_consumers_that_assign_themselves_read(
    world: World, client: str
) -> None:
    program, *more = PROGRAMS[client]
    require(client)
    topic = "of-groups"
    async with partitions(world) as brokers:
        if await brokers.partition(topic) is None:
            await brokers.create(topic, (1,))
            await brokers.led_by(topic, 1, {1})
            await brokers.produce(topic, b"0", b"1")
    found = await printed(program, world.brokers[2].ready["listen"], topic, *more)
    assert found == table("client", "subscribe", "assign")[client]


async def test_every_node_names_the_same_coordinator(world: World) -> None:
    request = FindCoordinatorRequest(coordinator_keys=("g", "h", "i", "j"))
    found = []
    async with partitions(world) as brokers:
        addresses = [await brokers.address(broker_id) for broker_id in (1, 2, 3)]
        for address in [*addresses, ("127.0.0.1", world.port)]:
            connection = await brokers.connection(address)
            response = await connection.request(request, FindCoordinatorResponse)
            found.append(response.coordinators)
    assert all(coordinators == found[0] for coordinators in found)
    assert {(each.host, each.port) for each in found[0]} <= set(addresses)


async def test_table_has_every_client_with_a_group() -> None:
    assert list(table("client", "subscribe", "assign")) == list(PROGRAMS)
