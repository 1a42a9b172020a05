"""A config that `serve` or `broker` accepts with `--config` has an effect; others are refused.

The walk over the table of broker configs compares what the code does with and without each config.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from api.broker.configs import broker_configs
from api.cli.options.security_options import with_session_limit
from api.cli.options.server_configs import (
    BROKER,
    CONFIG_POLICY,
    SERVE,
    TOPIC_POLICY,
    check_server_config,
)
from api.cli.service.policies import policy_of
from api.security.options import SecurityOptions
from controller.authorization.acls import AclAuthorizer
from controller.decisions.config_definitions.brokers import (
    BROKER_CONFIGS,
    DELETE_PARTITIONS_ENABLED,
)
from controller.decisions.config_definitions.definition import ConfigDefinition, ConfigType
from controller.decisions.config_definitions.resources import definitions
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import ConfigSource, effective_config, server_levels
from controller.decisions.context.context import Settings
from controller.decisions.security.tokens import SECRET_KEY, CreateToken, create_token
from controller.decisions.topics.partition_removal import (
    DeletePartitions,
    TopicShrink,
    delete_partitions,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.timers import TIMERS
from metadata_log.writer.creation import create_log
from replay.image.configs import GROUP, TOPIC
from tests.api.conftest import Metalog
from tests.api.kafka.servers import CLUSTER_ID
from tests.api.services import serving
from tests.controller.cluster import Cluster
from tests.stories.processes import World

Configs = dict[str, str]


def _other(definition: ConfigDefinition) -> str:
    """Return a valid value that is not the default."""
    default = definition.default
    if definition.type is ConfigType.BOOLEAN:
        return "false" if default == "true" else "true"
    if definition.allowed:
        return min(definition.allowed - {default})
    if definition.type in (ConfigType.INT, ConfigType.SHORT, ConfigType.LONG):
        least = 1 if definition.minimum is None else max(1, int(definition.minimum))
        return str(least + (str(least) == default))
    return "0.25" if definition.type is ConfigType.DOUBLE else "User:ann"


def _cluster(configs: Configs) -> Cluster:
    return Cluster(settings=Settings(cluster_id="test", static_configs=configs))


def _new_topic(configs: Configs) -> object:
    cluster = _cluster(configs)
    cluster.add_brokers(1, 2, 3)
    cluster.do(create_topics, CreateTopics(topics=(NewTopic(name="a"),)))
    partitions = cluster.image.partitions(cluster.topic("a").topic_id)
    return [len(partition.replicas) for partition in partitions]


def _shrink(configs: Configs) -> object:
    cluster = _cluster(configs)
    cluster.add_brokers(1)
    cluster.create("a", [1], [1])
    request = DeletePartitions(topics=(TopicShrink(topic="a", partitions=1),))
    (result,) = cluster.do(delete_partitions, request)
    return result.refusal is None


def _token(configs: Configs) -> object:
    cluster = _cluster({SECRET_KEY: "key", **configs})
    cluster.do(create_token, CreateToken(owner="User:ann"))
    (token,) = cluster.image.delegation_tokens()
    return token.max_timestamp, token.expiration_timestamp


def _intervals(configs: Configs) -> object:
    class _Controller:
        settings = Settings(static_configs=configs)
        view = _cluster(configs).context()

    controller: Any = _Controller()
    return [timer.interval_ms(controller) for timer in TIMERS]


def _policy(name: str) -> Callable[[Configs], object]:
    return lambda configs: policy_of({**configs, name: "json:dumps"} if configs else {}, name)


def _told_to_brokers(configs: Configs) -> object:
    return broker_configs(_cluster({}).image, 1, configs)


def _group_limits(configs: Configs) -> object:
    """Whether each config of a group may be so many values around the brokers' limits."""
    cluster = _cluster(configs)
    found = []
    for name, definition in definitions(GROUP).items():
        if definition.type is not ConfigType.INT:
            continue
        for value in (*range(4), 1_000, 1_001, 5_000, 14_999, 15_000, 30_000, 30_001, 45_000):
            change = ConfigChange(name, str(value))
            resource = ResourceChange(resource_type=GROUP, resource_name="g", changes=(change,))
            request = AlterConfigs(resources=(resource,), validate_only=True)
            (result,) = cluster.do(alter_configs, request)
            found.append(result.refusal is None)
    return found


def _authorizer(configs: Configs) -> object:
    return AclAuthorizer.of(configs)


def _session(configs: Configs) -> object:
    return with_session_limit(SecurityOptions(), configs)


DECIDED: dict[str, Callable[[Configs], object]] = {
    "num.partitions": _new_topic,
    "default.replication.factor": _new_topic,
    DELETE_PARTITIONS_ENABLED: _shrink,
    "delete.topic.partition.interval.delay.ms": _intervals,
    "delete.stale.topic.delay.ms": _told_to_brokers,
    "delegation.token.expiry.check.interval.ms": _intervals,
    "delegation.token.expiry.time.ms": _token,
    "delegation.token.max.lifetime.ms": _token,
    TOPIC_POLICY: _policy(TOPIC_POLICY),
    CONFIG_POLICY: _policy(CONFIG_POLICY),
    "super.users": _authorizer,
    "allow.everyone.if.no.acl.found": _authorizer,
    "connections.max.reauth.ms": _session,
}
"""Configs that are read from the static ones alone, with what each changes."""

OF_BROKERS = {"super.users", "allow.everyone.if.no.acl.found", "connections.max.reauth.ms"}


def _has_effect(name: str) -> bool:
    """True if the config is the value of a topic's or a group's, or changes what is decided."""
    configs = {name: _other(BROKER_CONFIGS[name])}
    levels = [*server_levels(_cluster(configs).context())]
    inherited = any(
        effective_config(iter(levels), definition).source is ConfigSource.STATIC
        for type_ in (TOPIC, GROUP)
        for definition in definitions(type_).values()
    )
    decided = DECIDED.get(name)
    if decided is None and name.startswith("group.") and (".min." in name or ".max." in name):
        decided = _group_limits
    return inherited or (decided is not None and decided(configs) != decided({}))


def _refusal(command: str, name: str) -> str:
    try:
        check_server_config(command, name, _other(BROKER_CONFIGS[name]))
    except typer.BadParameter as error:
        return error.message
    return ""


@pytest.mark.parametrize("name", sorted(BROKER_CONFIGS))
def test_a_static_config_has_an_effect_or_is_refused(name: str) -> None:
    refusal = _refusal(SERVE, name)
    if name == SECRET_KEY:
        assert "--secret-key-file" in refusal
    elif _has_effect(name):
        assert refusal == ""
    else:
        assert refusal == f"{name} has no effect on `metalog serve`, so it cannot be set here"


@pytest.mark.parametrize("name", sorted({*BROKER_CONFIGS} - {SECRET_KEY}))
def test_a_broker_takes_only_the_configs_that_it_uses(name: str) -> None:
    refusal = _refusal(BROKER, name)
    assert (refusal == "") == (name in OF_BROKERS)
    if refusal and not _refusal(SERVE, name):
        assert "give it to `metalog serve`" in refusal


def test_what_is_for_one_listener_is_refused() -> None:
    name = "listener.name.external.connections.max.reauth.ms"
    for command in (SERVE, BROKER):
        with pytest.raises(typer.BadParameter):
            check_server_config(command, name, "1")
        with pytest.raises(typer.BadParameter, match="has no effect"):
            check_server_config(command, "listener.name.external.ssl.client.auth", "required")


def test_explain_shows_every_static_config_of_a_service(metalog: Metalog, tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    given = {
        name: "builtins:id" if name in (TOPIC_POLICY, CONFIG_POLICY) else _other(definition)
        for name, definition in BROKER_CONFIGS.items()
        if not _refusal(SERVE, name)
    }
    given["super.users"] = "User:ANONYMOUS"
    options = [f"--config={name}={value}" for name, value in given.items()]
    with serving(tmp_path / "log", "--authorizer", "acl", *options) as served:
        explained = metalog("configs", "explain", "cluster", "--server", served.kafka, "--json")
    configs = {config["name"]: config for config in json.loads(explained.out)["configs"]}
    for name, value in given.items():
        nearest = configs[name]["levels"][0]
        assert (nearest["level"], nearest["value"]) == ("static", value), name


async def test_a_service_creates_topics_with_its_default_numbers(
    metalog: Metalog, tmp_path: Path
) -> None:
    world = World(tmp_path)
    try:
        await world.serve("--config=num.partitions=4", "--config=default.replication.factor=2")
        await world.start_brokers(1, 2)
        at = ("--server", f"kafka://127.0.0.1:{world.port}")
        created = await asyncio.to_thread(metalog, "topics", "create", "orders", *at)
        assert created.code == 0, created.err
        topic = world.image().topic_by_name("orders")
        assert topic is not None
        partitions = world.image().partitions(topic.topic_id)
        assert [len(partition.replicas) for partition in partitions] == [2, 2, 2, 2]
    finally:
        await world.end()
