"""Brokers apply config changes while they run."""

from datetime import UTC, datetime
from typing import Any

import pytest

from api.clients.client import MetadataClient
from api.kafka.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from controller.decisions.config_definitions.brokers import OF_BROKERS, OF_EACH_PROCESS
from records.text import uuid_text
from replay.image.configs import BROKER
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


async def test_a_broker_that_is_asked_describes_the_options_of_its_process(world: World) -> None:
    listen = f"PLAINTEXT://{world.brokers[2].ready['listen']}"
    expected = {
        "auto.create.topics.enable": ("false", 4),
        "broker.heartbeat.interval.ms": ("300", 4),
        "inter.broker.listener.name": ("PLAINTEXT", 4),
        "listeners": (listen, 4),
        "log.dir": (str(world.log_dir(2)), 4),
        "log.dirs": (str(world.log_dir(2)), 4),
        "replica.lag.time.max.ms": ("1500", 4),
    }
    assert expected.keys() == OF_BROKERS
    assert await _described(world, 2, asked=2) == expected
    # As far as other nodes know, they have no values, least of all Kafka's defaults.
    assert {value for value, _ in (await _described(world, 2, asked=3)).values()} == {None}


async def test_a_value_in_the_log_stays_in_effect_before_the_brokers_own(world: World) -> None:
    await world.ask("configs", "set", "broker/2", "listeners=PLAINTEXT://h:1")
    try:
        assert (await _described(world, 2, asked=2))["listeners"] == ("PLAINTEXT://h:1", 2)
        (config,) = await _describe(world, 2, asked=2, names=("listeners",))
        own = f"PLAINTEXT://{world.brokers[2].ready['listen']}"
        assert [(each.value, each.source) for each in config.synonyms] == [
            ("PLAINTEXT://h:1", 2),
            (own, 4),
            ("PLAINTEXT://:9092", 5),
        ]
    finally:
        await world.ask("configs", "delete", "broker/2", "listeners")


async def test_explained_defaults_say_what_only_the_broker_knows(world: World) -> None:
    async def explained(resource: str) -> dict[str, Any]:
        told = await world.ask("configs", "explain", resource)
        return {config["name"]: config for config in told["configs"]}

    of_broker, of_cluster = await explained("broker/2"), await explained("cluster")
    names = {name for name, config in of_broker.items() if config["of_process"]}
    assert names == OF_BROKERS | OF_EACH_PROCESS
    assert not any(config["of_process"] for config in of_cluster.values())
    # The registration tells the rest.
    listen = f"PLAINTEXT://{world.brokers[2].ready['listen']}"
    assert (of_broker["node.id"]["value"], of_broker["node.id"]["level"]) == ("2", "static")
    assert of_broker["advertised.listeners"]["value"] == listen
    await world.ask("configs", "set", "broker/2", "listeners=PLAINTEXT://h:1")
    try:
        assert not (await explained("broker/2"))["listeners"]["of_process"]
    finally:
        await world.ask("configs", "delete", "broker/2", "listeners")


async def _described(world: World, broker: int, *, asked: int) -> dict[str, tuple[str | None, int]]:
    """Ask a broker for the options of a broker's process; return values and sources."""
    configs = await _describe(world, broker, asked=asked, names=tuple(sorted(OF_BROKERS)))
    return {config.name: (config.value, config.config_source) for config in configs}


async def _describe(
    world: World, broker: int, *, asked: int, names: tuple[str, ...]
) -> tuple[DescribeConfigsResourceResult, ...]:
    resource = DescribeConfigsResource(
        resource_type=BROKER, resource_name=str(broker), configuration_keys=names
    )
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True)
    at = f"kafka://{world.brokers[asked].ready['listen']}"
    async with await MetadataClient.connect(at) as client:
        answer = await client.connection.request(request, DescribeConfigsResponse)
    (result,) = answer.results
    assert result.error_code == 0, result.error_message
    return result.configs
