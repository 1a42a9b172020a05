"""The two stories for which topic ids were made: stale reads and stale state."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from api.kafka.errors import name_of
from records.text import uuid_text
from tests.api.broker.records import values
from tests.stories.partition_client import partitions
from tests.stories.processes import World, soon
from tests.stories.proxy import Proxy

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def deaf(world: World) -> AsyncIterator[Proxy]:
    """Broker 4, behind a proxy to its controller."""
    proxy = await Proxy.start(world.port)
    try:
        process = await world.start_broker(4, port=proxy.port)
        await process.is_ready()
        yield proxy
    finally:
        await proxy.lose()
        await world.brokers[4].stop()
        await proxy.close()


async def test_stale_reads_are_fenced_and_stale_state_is_staged(world: World, deaf: Proxy) -> None:
    async with partitions(world) as some:
        old = await some.create("stale", (4,))
        await some.produce("stale", b"old")
        at = await some.address(4)

        deaf.block()
        await some.delete("stale")
        new = await some.create("stale", (2, 4))
        await some.produce("stale", b"new")

        # Stale reads: broker 4 still believes that it leads the old topic.
        for topic_id, error in ((new, "INCONSISTENT_TOPIC_ID"), (old, "NONE")):
            fetched = await some.try_fetch(at, "stale", topic_id=topic_id)
            listed = await some.list_offset(at, "stale", -1, topic_id)
            written = await some.try_produce(at, "stale", b"x", topic_id=topic_id, acks=1)
            codes = (fetched.error_code, listed.error_code, written.error_code)
            assert {name_of(code) for code in codes} == {error}
        # A client that names no id is served as before there were ids.
        assert values((await some.try_fetch(at, "stale")).records or b"") == [b"old", b"x"]

        # Stale state: the word of the deletion is lost, that of the new topic comes through.
        await deaf.lose()
        await soon(lambda: _id_on_disk(world, 4, "stale_0") == uuid_text(new))
        await some.led_by("stale", 2, {2, 4})
        errors = world.brokers[4].errors
        assert f"(topic id {uuid_text(old)}) is stale: the topic of that name has the id" in errors
        assert "it will be deleted at" in errors
        assert await some.read("stale", 1) == [b"new"]
        fetched = await some.try_fetch(at, "stale", topic_id=old)
        assert name_of(fetched.error_code) == "INCONSISTENT_TOPIC_ID"


def _id_on_disk(world: World, broker_id: int, folder: str) -> str | None:
    path = world.log_dir(broker_id) / folder / "partition.metadata"
    if not path.exists():
        return None
    lines = dict(line.split(": ", 1) for line in path.read_text().splitlines())
    return lines["id"]
