"""A broker with an authorizer applies changes of the ACLs made through the controller."""

import pytest

from api.kafka.errors import name_of
from api.kafka.messages.records_io import LATEST
from tests.stories.partition_client import partitions
from tests.stories.processes import World, soon

pytestmark = pytest.mark.asyncio(loop_scope="session")

REFUSED = "TOPIC_AUTHORIZATION_FAILED"


async def test_acls_that_are_made_and_removed_hold_on_a_running_broker(world: World) -> None:
    async with partitions(world) as some:
        assert await world.brokers[3].stop() == 0
        broker = await world.start_broker(3, "--authorizer", "acl")
        await broker.is_ready()
        await some.create("guarded", (3,))
        await some.led_by("guarded", 3, {3})
        address = await some.address(3)

        async def answers() -> list[str]:
            written = await some.try_produce(address, "guarded", b"one")
            read = await some.try_fetch(address, "guarded")
            listed = await some.list_offset(address, "guarded", LATEST)
            return [name_of(answer.error_code) for answer in (written, read, listed)]

        async def are(*expected: str) -> bool:
            return await answers() == list(expected)

        assert await are(REFUSED, REFUSED, REFUSED)
        acl = ("--topic", "guarded", "--principal", "User:ANONYMOUS", "--operation", "read")
        await world.ask("acls", "create", *acl)
        # READ allows DESCRIBE too.
        await soon(lambda: are(REFUSED, "NONE", "NONE"))
        await world.ask("acls", "delete", *acl)
        await soon(lambda: are(REFUSED, REFUSED, REFUSED))
        await some.delete("guarded")
        assert await world.brokers[3].stop() == 0
        await world.start_brokers(3)
