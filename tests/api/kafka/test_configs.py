"""Kafka's requests for configs: sources, synonyms and their order, per-resource errors."""

from pathlib import Path
from typing import Any

import pytest

from api.kafka.errors import name_of
from api.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ReplacedConfig,
    ReplacedResource,
)
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.subscriptions import RegisterSubscription
from controller.decisions.topics.topics import CreateTopics, NewTopic
from replay.image.configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    NAMESPACE,
    TOPIC,
)
from tests.api.guarded import nothing_written
from tests.api.kafka.servers import Server, server

SET, DELETE, APPEND, SUBTRACT = range(4)
_NODE = 30  # the controller's


async def _describe(
    at: Server, *resources: tuple[int, str], keys: tuple[str, ...] | None = None, **fields: Any
) -> tuple[DescribeConfigsResult, ...]:
    request = DescribeConfigsRequest(
        resources=tuple(
            [
                DescribeConfigsResource(
                    resource_type=type_, resource_name=name, configuration_keys=keys
                )
                for type_, name in resources
            ]
        ),
        include_synonyms=True,
        **fields,
    )
    return (await at.client.connection.request(request, DescribeConfigsResponse)).results


async def _config(at: Server, type_: int, name: str, key: str) -> DescribeConfigsResourceResult:
    (result,) = await _describe(at, (type_, name), keys=(key,))
    assert result.error_code == 0, result.error_message
    (config,) = result.configs
    return config


async def _alter(
    at: Server, *changes: tuple[int, str, str, int, str | None], validate_only: bool = False
) -> list[str]:
    """Change one config of each resource; return the names of the errors."""
    request = IncrementalAlterConfigsRequest(
        resources=tuple(
            [
                AlterableResource(
                    resource_type=type_,
                    resource_name=name,
                    configs=(AlterableConfig(name=key, config_operation=operation, value=value),),
                )
                for type_, name, key, operation, value in changes
            ]
        ),
        validate_only=validate_only,
    )
    answer = await at.client.connection.request(request, IncrementalAlterConfigsResponse)
    return [name_of(response.error_code) for response in answer.responses]


async def _replace(
    at: Server, type_: int, name: str, configs: dict[str, str | None], **fields: Any
) -> str:
    replaced = ReplacedResource(
        resource_type=type_,
        resource_name=name,
        configs=tuple([ReplacedConfig(name=n, value=value) for n, value in configs.items()]),
    )
    answer = await at.client.connection.request(
        AlterConfigsRequest(resources=(replaced,), **fields), AlterConfigsResponse
    )
    (response,) = answer.responses
    assert (response.resource_type, response.resource_name) == (type_, name)
    return name_of(response.error_code)


def _synonyms(config: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(s.name, s.value, s.source) for s in config.synonyms]


async def _create(at: Server, *names: str) -> None:
    new = tuple(
        [
            NewTopic(name=name.rpartition(":")[2], namespace=name.rpartition(":")[0])
            for name in names
        ]
    )
    results = (await at.client.run(CreateTopics(topics=new))).response
    assert all(result.refusal is None for result in results)


async def test_synonyms_of_a_topic_are_its_own_value_and_then_the_brokers_by_source(
    tmp_path: Path,
) -> None:
    static = {"log.retention.minutes": "9", "log.retention.hours": "8"}
    settings = Settings(static_configs=static, node_id=_NODE)
    async with server(tmp_path, settings=settings) as at:
        await at.register(1)
        await at.register(_NODE)
        await _create(at, "orders")
        changed = await _alter(
            at,
            (TOPIC, "orders", "retention.ms", SET, "1"),
            (BROKER, str(_NODE), "log.retention.ms", SET, "2"),
            (BROKER, "", "log.retention.ms", SET, "3"),
            (BROKER, "1", "log.retention.ms", SET, "4"),  # no level of a topic's
        )
        assert changed == ["NONE"] * 4
        config = await _config(at, TOPIC, "orders", "retention.ms")
        from_brokers = [
            ("log.retention.ms", "2", 2),
            ("log.retention.ms", "3", 3),
            ("log.retention.minutes", "9", 4),
            ("log.retention.hours", "8", 4),
            ("log.retention.hours", "168", 5),
        ]
        assert _synonyms(config) == [("retention.ms", "1", 1), *from_brokers]
        assert (config.value, config.config_source, config.config_type) == ("1", 1, 5)
        assert not config.read_only
        await _alter(at, (TOPIC, "orders", "retention.ms", DELETE, None))
        config = await _config(at, TOPIC, "orders", "retention.ms")
        assert _synonyms(config) == from_brokers
        assert (config.value, config.config_source) == ("2", 2)
        await _alter(at, (BROKER, str(_NODE), "log.retention.ms", DELETE, None))
        await _alter(at, (BROKER, "", "log.retention.ms", DELETE, None))
        config = await _config(at, TOPIC, "orders", "retention.ms")
        assert (config.value, config.config_source) == ("540000", 4)


async def test_a_namespace_is_an_unknown_source_between_the_topic_and_the_brokers(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await at.client.run(CreateNamespace("shop"))
        await _create(at, "shop:orders")
        assert await _alter(at, (NAMESPACE, "shop", "retention.ms", SET, "7")) == ["NONE"]
        config = await _config(at, TOPIC, "shop:orders", "retention.ms")
        assert _synonyms(config) == [("retention.ms", "7", 0), ("log.retention.hours", "168", 5)]
        assert (config.value, config.config_source) == ("7", 0)
        config = await _config(at, NAMESPACE, "shop", "retention.ms")
        assert (config.value, config.config_source) == ("7", 0)


async def test_config_that_brokers_do_not_have_has_no_synonym_until_it_is_set(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders")
        config = await _config(at, TOPIC, "orders", "remote.log.copy.disable")
        assert (config.value, config.config_source, _synonyms(config)) == ("false", 5, [])
        await _alter(at, (TOPIC, "orders", "remote.log.copy.disable", SET, "true"))
        config = await _config(at, TOPIC, "orders", "remote.log.copy.disable")
        assert _synonyms(config) == [("remote.log.copy.disable", "true", 1)]


async def test_synonyms_of_a_broker_begin_with_the_name_asked_for(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _alter(
            at,
            (BROKER, "1", "log.retention.ms", SET, "2"),
            (BROKER, "", "log.retention.minutes", SET, "3"),
        )
        minutes = await _config(at, BROKER, "1", "log.retention.minutes")
        assert _synonyms(minutes) == [
            ("log.retention.minutes", "3", 3),
            ("log.retention.hours", "168", 5),
        ]
        assert (minutes.value, minutes.config_source, minutes.read_only) == ("3", 3, False)
        ms = await _config(at, BROKER, "1", "log.retention.ms")
        assert _synonyms(ms) == [
            ("log.retention.ms", "2", 2),
            ("log.retention.minutes", "3", 3),
            ("log.retention.hours", "168", 5),
        ]
        await _alter(at, (BROKER, "1", "log.retention.ms", DELETE, None))
        ms = await _config(at, BROKER, "1", "log.retention.ms")
        assert (ms.value, ms.config_source, _synonyms(ms)) == (None, 5, [])


async def test_a_broker_has_the_configs_that_it_registered_and_the_static_ones(
    tmp_path: Path,
) -> None:
    static = {"log.retention.ms": "7", "super.users": "User:ann", "num.partitions": "4"}
    expected = {
        "node.id": ("1", 4, True),
        "advertised.listeners": ("PLAINTEXT://h:9001", 4, True),
        "listener.security.protocol.map": ("PLAINTEXT:PLAINTEXT", 4, False),
        "log.retention.ms": ("7", 4, False),
        "num.partitions": ("4", 4, True),
        "super.users": ("", 5, True),  # the broker may have others
    }
    async with server(tmp_path, settings=Settings(static_configs=static)) as at:
        await at.register(1)
        for name, value in expected.items():
            config = await _config(at, BROKER, "1", name)
            assert (config.value, config.config_source, config.read_only) == value, name
        await _alter(at, (BROKER, "1", "log.retention.ms", SET, "8"))
        ms = await _config(at, BROKER, "1", "log.retention.ms")
        assert (ms.value, ms.config_source) == ("8", 2)


async def test_the_broker_without_a_name_has_only_what_the_log_sets_for_all(
    tmp_path: Path,
) -> None:
    settings = Settings(static_configs={"num.io.threads": "3"})
    async with server(tmp_path, settings=settings) as at:
        (result,) = await _describe(at, (BROKER, ""))
        assert result.configs == ()
        await _alter(at, (BROKER, "", "num.network.threads", SET, "5"))
        (result,) = await _describe(at, (BROKER, ""))
        (config,) = result.configs
        assert (config.name, config.value, config.config_source) == ("num.network.threads", "5", 3)
        assert _synonyms(config) == [("num.network.threads", "5", 3)]


async def test_groups_metrics_and_loggers_have_sources_of_their_own(tmp_path: Path) -> None:
    timeout = "consumer.session.timeout.ms"
    settings = Settings(static_configs={f"group.{timeout}": "46000"})
    async with server(tmp_path, settings=settings) as at:
        await at.register(1)
        config = await _config(at, GROUP, "g", timeout)
        assert (config.value, config.config_source) == ("46000", 5)
        assert _synonyms(config) == [(timeout, "46000", 5)]
        changed = await _alter(
            at,
            (GROUP, "g", timeout, SET, "50000"),
            (CLIENT_METRICS, "m", "interval.ms", SET, "1000"),
            (BROKER_LOGGER, "1", "kafka.server", SET, "DEBUG"),
        )
        assert changed == ["NONE"] * 3
        config = await _config(at, GROUP, "g", timeout)
        assert _synonyms(config) == [(timeout, "50000", 8)]
        config = await _config(at, CLIENT_METRICS, "m", "interval.ms")
        assert (config.value, config.config_source, _synonyms(config)) == ("1000", 7, [])
        config = await _config(at, CLIENT_METRICS, "m", "metrics")
        assert (config.value, config.config_source) == ("", 5)
        config = await _config(at, BROKER_LOGGER, "1", "kafka.server")
        assert (config.value, config.config_source, _synonyms(config)) == ("DEBUG", 6, [])
        assert not config.is_sensitive


async def test_secrets_have_no_value_on_any_level(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        key = "ssl.keystore.password"
        assert await _alter(at, (BROKER, "1", key, SET, "hunter2")) == ["NONE"]
        config = await _config(at, BROKER, "1", key)
        assert (config.value, config.is_sensitive, config.config_type) == (None, True, 9)
        assert {value for _, value, _ in _synonyms(config)} == {None}
        (everything,) = await _describe(at, (BROKER, "1"))
        assert "hunter2" not in repr(everything)


async def test_keys_documentation_and_resources_that_do_not_exist(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders")
        resources = (
            (TOPIC, "orders"),
            (TOPIC, "absent"),
            (BROKER, "9"),
            (BROKER, "one"),
            (7, "x"),
        )
        keys = ("segment.ms", "no.such.config")
        found = await _describe(at, *resources, keys=keys, include_documentation=True)
        assert [name_of(result.error_code) for result in found] == [
            "NONE",
            "UNKNOWN_TOPIC_OR_PARTITION",
            "BROKER_ID_NOT_REGISTERED",
            "BROKER_ID_NOT_REGISTERED",
            "INVALID_REQUEST",
        ]
        assert [(r.resource_type, r.resource_name) for r in found] == list(resources)
        (config,) = found[0].configs  # what it does not have is left out, as in Kafka
        assert (
            config.documentation == "Time after which a segment is closed even if it is not full."
        )
        for of_all in (None, ()):
            (result,) = await _describe(at, (TOPIC, "orders"), keys=of_all)
            assert len(result.configs) > 30
            assert {config.documentation for config in result.configs} == {None}


async def test_synonyms_are_told_only_to_who_asks_for_them(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders")
        resource = DescribeConfigsResource(resource_type=TOPIC, resource_name="orders")
        request = DescribeConfigsRequest(resources=(resource,))
        answer = await at.client.connection.request(request, DescribeConfigsResponse)
        assert all(config.synonyms == () for config in answer.results[0].configs)


async def test_each_resource_is_changed_or_refused_by_itself(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders", "carts")
        changes = (
            (TOPIC, "orders", "cleanup.policy", APPEND, "compact"),
            (TOPIC, "carts", "retention.ms", SET, "soon"),
            (TOPIC, "absent", "retention.ms", SET, "1"),
            (BROKER, "1", "node.id", SET, "2"),
            (BROKER, "9", "num.io.threads", SET, "2"),
            (GROUP, "g", "consumer.session.timeout.ms", SET, None),
            (BROKER_LOGGER, "1", "root", DELETE, None),
            (99, "x", "y", SET, "z"),
        )
        codes = [
            "NONE",
            "INVALID_CONFIG",
            "UNKNOWN_TOPIC_OR_PARTITION",
            "INVALID_CONFIG",
            "BROKER_ID_NOT_REGISTERED",
            *["INVALID_REQUEST"] * 3,
        ]
        with nothing_written(at):
            assert await _alter(at, *changes, validate_only=True) == codes
        assert await _alter(at, *changes) == codes
        assert at.service.image.config_value(TOPIC, "orders", "cleanup.policy") == "delete,compact"
        subtracted = (TOPIC, "orders", "cleanup.policy", SUBTRACT, "delete")
        assert await _alter(at, subtracted) == ["NONE"]
        assert at.service.image.config_value(TOPIC, "orders", "cleanup.policy") == "compact"


async def test_unknown_operation_and_a_resource_named_twice_are_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders")
        once = (TOPIC, "orders", "retention.ms", SET, "1")
        with nothing_written(at):
            assert await _alter(at, once, once) == ["INVALID_REQUEST"] * 2
            unknown = (TOPIC, "orders", "retention.ms", 4, "1")
            assert await _alter(at, unknown) == ["INVALID_REQUEST"]


async def test_legacy_alter_deletes_what_it_does_not_name(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders")
        assert await _replace(at, TOPIC, "orders", {"retention.ms": "1", "flush.ms": "2"}) == "NONE"
        with nothing_written(at):
            code = await _replace(at, TOPIC, "orders", {"segment.ms": "3"}, validate_only=True)
            assert code == "NONE"
            assert await _replace(at, TOPIC, "orders", {"segment.ms": None}) == "INVALID_REQUEST"
            assert await _replace(at, TOPIC, "orders", {"no.such": "1"}) == "INVALID_CONFIG"
            assert await _replace(at, BROKER_LOGGER, "1", {"a": "INFO"}) == "INVALID_REQUEST"
        assert await _replace(at, TOPIC, "orders", {"segment.ms": "3", "flush.ms": "2"}) == "NONE"
        own = at.service.image.config(TOPIC, "orders")
        assert dict(own) == {"segment.ms": "3", "flush.ms": "2"}


async def test_legacy_alter_of_loggers_does_not_refuse_the_other_resources(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders")
        resources = [(BROKER_LOGGER, "1", "kafka", "INFO"), (TOPIC, "orders", "flush.ms", "2")]
        request = AlterConfigsRequest(
            resources=tuple(
                [
                    ReplacedResource(
                        resource_type=type_,
                        resource_name=name,
                        configs=(ReplacedConfig(name=key, value=value),),
                    )
                    for type_, name, key, value in resources
                ]
            )
        )
        answer = await at.client.connection.request(request, AlterConfigsResponse)
        codes = [name_of(response.error_code) for response in answer.responses]
        assert codes == ["INVALID_REQUEST", "NONE"]


async def test_a_groups_configs_can_be_read_and_written_back_with_its_subscription(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        await at.client.run(RegisterSubscription(group="g", pattern="orders.*"))
        (result,) = await _describe(at, (GROUP, "g"))
        own = {config.name: config.value for config in result.configs if config.config_source == 8}
        assert own == {"subscribed.topic.regex": "orders.*"}
        with nothing_written(at):
            assert await _replace(at, GROUP, "g", own) == "NONE"


@pytest.mark.parametrize("version", range(1, 5))
async def test_every_version_describes(tmp_path: Path, version: int) -> None:
    async with server(tmp_path) as at:
        resource = DescribeConfigsResource(resource_type=GROUP, resource_name="g")
        request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True)
        answer = await at.client.connection.request(
            request, DescribeConfigsResponse, version=version
        )
        entry = answer.results[0].configs[0]
        assert entry.config_source == 5
        assert len(entry.synonyms) == 1
        assert entry.config_type == (3 if version >= 3 else 0)


async def test_unknown_operation_refuses_only_its_resource(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _create(at, "orders", "bills")
        changed = await _alter(
            at,
            (TOPIC, "orders", "retention.ms", 9, "5"),
            (TOPIC, "bills", "retention.ms", 0, "5"),
        )
        assert changed == ["INVALID_REQUEST", "NONE"]
        assert (await _config(at, TOPIC, "bills", "retention.ms")).value == "5"
