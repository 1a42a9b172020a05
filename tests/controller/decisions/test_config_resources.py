"""The configs that each kind of resource may have, and how others in a log are handled."""

from functools import partial

import pytest

from controller.decisions.config_definitions.brokers import BROKER_CONFIGS, broker_config
from controller.decisions.config_definitions.definition import ConfigType
from controller.decisions.config_definitions.resources import definitions, unknown_config
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ReplaceConfigs,
    ResourceChange,
    ResourceResult,
    alter_configs,
    replace_configs,
)
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from records.configs import ConfigRecord
from records.secrets import is_secret_config
from replay.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, NAMESPACE, TOPIC
from tests.controller.cluster import Cluster
from tests.controller.effort import lines_run


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.create("orders", [1])
    cluster.do(create_namespace, CreateNamespace("org"))
    return cluster


def _ask(
    cluster: Cluster, type_: int, resource: str, *changes: ConfigChange, replace: bool = False
) -> ResourceResult:
    change = ResourceChange(resource_type=type_, resource_name=resource, changes=changes)
    result: ResourceResult
    if replace:
        (result,) = cluster.do(replace_configs, ReplaceConfigs(resources=(change,)))
    else:
        (result,) = cluster.do(alter_configs, AlterConfigs(resources=(change,)))
    return result


def _set(cluster: Cluster, type_: int, resource: str, name: str, value: str) -> str:
    refusal = _ask(cluster, type_, resource, ConfigChange(name, value)).refusal
    return refusal.code if refusal else "NONE"


def _delete(name: str) -> ConfigChange:
    return ConfigChange(name, operation=Operation.DELETE)


@pytest.mark.parametrize("type_", [TOPIC, BROKER, CLIENT_METRICS, GROUP, NAMESPACE])
def test_every_definition_is_whole(type_: int) -> None:
    for definition in definitions(type_).values():
        assert definition.doc, definition.name
        assert definition.since, definition.name
        assert (definition.type is ConfigType.PASSWORD) == is_secret_config(definition.name), (
            definition.name
        )
        if definition.default:
            definition.check(definition.default)


def test_server_level_names_of_topics_are_configs_of_brokers_with_the_same_default() -> None:
    for definition in TOPIC_CONFIGS.values():
        defaults = []
        for name, factor in definition.server_names:
            default = BROKER_CONFIGS[name].default
            if default:
                defaults.append(default if factor == 1 else str(int(default) * factor))
        # log.flush.interval.ms has none of its own.
        assert defaults[:1] in ([definition.default], []), definition.name


@pytest.mark.parametrize(
    ("type_", "resource", "name", "hint"),
    [
        (TOPIC, "orders", "retension.ms", "did you mean 'retention.ms'?"),
        (TOPIC, "orders", "log.retention.ms", "here it is 'retention.ms'"),
        (TOPIC, "orders", "namespace.max.topics", "a topic has no config"),
        (NAMESPACE, "org", "log.roll.hours", "here it is 'segment.ms'"),
        (NAMESPACE, "org", "namespace.max.topic", "did you mean 'namespace.max.topics'?"),
        (BROKER, "", "retention.ms", "here it is 'log.retention.ms'"),
        (BROKER, "", "nonsense.key", "a broker has no config 'nonsense.key'"),
        (BROKER, "1", "num.io.thread", "did you mean 'num.io.threads'?"),
        (GROUP, "billing", "consumer.session.timeout", "'consumer.session.timeout.ms'?"),
        (CLIENT_METRICS, "all", "interval", "did you mean 'interval.ms'?"),
    ],
)
def test_unknown_config_is_refused_with_the_nearest_name(
    cluster: Cluster, type_: int, resource: str, name: str, hint: str
) -> None:
    for change in (ConfigChange(name, "1"), _delete(name)):
        refusal = _ask(cluster, type_, resource, change).refusal
        assert refusal is not None
        assert refusal.code == "INVALID_CONFIG"
        assert hint in refusal.message
    assert cluster.records == ()


@pytest.mark.parametrize(("type_", "resource"), [(TOPIC, "orders"), (BROKER, "")])
def test_value_from_elsewhere_stays_and_can_be_deleted(
    cluster: Cluster, type_: int, resource: str
) -> None:
    name = "retention.bytes" if type_ == TOPIC else "log.retention.bytes"
    raw = {"nonsense.key": "1", name: "abc"}
    cluster.write(
        [
            ConfigRecord(resource_type=type_, resource_name=resource, name=k, value=v)
            for k, v in raw.items()
        ]
    )
    other = "segment.bytes" if type_ == TOPIC else "log.segment.bytes"
    assert _set(cluster, type_, resource, other, "1000") == "NONE"
    assert _set(cluster, type_, resource, name, "abc") == "NONE"  # unchanged
    assert _set(cluster, type_, resource, "nonsense.key", "2") == "INVALID_CONFIG"
    assert _set(cluster, type_, resource, name, "abcd") == "INVALID_CONFIG"
    for deleted in raw:
        assert _ask(cluster, type_, resource, _delete(deleted)).refusal is None
    assert cluster.image.config(type_, resource) == {other: "1000"}


@pytest.mark.parametrize(
    ("resource", "name", "value", "code"),
    [
        ("", "node.id", "5", "INVALID_CONFIG"),
        ("1", "node.id", "5", "INVALID_CONFIG"),
        ("", "ssl.keystore.location", "/k", "INVALID_CONFIG"),
        ("1", "ssl.keystore.location", "/k", "NONE"),
        ("1", "listener.name.internal.ssl.keystore.location", "/k", "NONE"),
        ("", "listener.name.internal.ssl.keystore.location", "/k", "INVALID_CONFIG"),
        ("1", "listener.name.internal.scram-sha-256.sasl.jaas.config", "x", "NONE"),
        ("1", "listener.name.internal.node.id", "5", "INVALID_CONFIG"),
        ("1", "listener.name.internal", "5", "INVALID_CONFIG"),
        ("", "num.io.threads", "0", "INVALID_CONFIG"),
        ("", "num.io.threads", "9", "NONE"),
        ("", "log.retention.hours", "24", "NONE"),
        ("", "sasl.login.refresh.buffer.seconds", "40000", "INVALID_CONFIG"),
    ],
)
def test_broker_configs_are_changed_where_brokers_read_them(
    cluster: Cluster, resource: str, name: str, value: str, code: str
) -> None:
    assert _set(cluster, BROKER, resource, name, value) == code


def test_config_of_a_listener_is_found_by_its_last_parts() -> None:
    found = broker_config("listener.name.a.b.max.connections")
    assert found is not None
    assert found.server_names == (("listener.name.a.b.max.connections", 1),)


@pytest.mark.parametrize(
    ("type_", "resource", "name", "value", "code"),
    [
        (BROKER_LOGGER, "1", "kafka.controller", "DEBUG", "NONE"),
        (BROKER_LOGGER, "1", "kafka.controller", "LOUD", "INVALID_CONFIG"),
        (BROKER_LOGGER, "9", "kafka.controller", "DEBUG", "BROKER_ID_NOT_REGISTERED"),
        (BROKER_LOGGER, "", "kafka.controller", "DEBUG", "INVALID_REQUEST"),
        (CLIENT_METRICS, "all", "interval.ms", "100", "NONE"),
        (CLIENT_METRICS, "all", "interval.ms", "99", "INVALID_CONFIG"),
        (CLIENT_METRICS, "all", "match", "client_id=a.*,client_source_port=9.", "NONE"),
        (CLIENT_METRICS, "all", "match", "client_id=(", "INVALID_CONFIG"),
        (CLIENT_METRICS, "all", "match", "colour=red", "INVALID_CONFIG"),
        (CLIENT_METRICS, "", "interval.ms", "100", "INVALID_REQUEST"),
        (GROUP, "billing", "consumer.session.timeout.ms", "50000", "NONE"),
        (GROUP, "billing", "consumer.session.timeout.ms", "44999", "INVALID_CONFIG"),
        (GROUP, "billing", "consumer.session.timeout.ms", "60001", "INVALID_CONFIG"),
        (GROUP, "billing", "share.auto.offset.reset", "by_duration:PT1H", "NONE"),
        (GROUP, "billing", "share.auto.offset.reset", "never", "INVALID_CONFIG"),
        (GROUP, "billing", "streams.num.standby.replicas", "3", "INVALID_CONFIG"),
        (GROUP, "", "consumer.session.timeout.ms", "50000", "INVALID_REQUEST"),
    ],
)
def test_other_resources_of_kafka(
    cluster: Cluster, type_: int, resource: str, name: str, value: str, code: str
) -> None:
    assert _set(cluster, type_, resource, name, value) == code


def test_level_of_the_root_logger_cannot_be_deleted(cluster: Cluster) -> None:
    refusal = _ask(cluster, BROKER_LOGGER, "1", _delete("root")).refusal
    assert refusal is not None
    assert refusal.code == "INVALID_REQUEST"


def test_topic_on_tiered_storage_is_not_compacted_and_keeps_no_more_locally(
    cluster: Cluster,
) -> None:
    assert _set(cluster, TOPIC, "orders", "remote.storage.enable", "true") == "NONE"
    assert _set(cluster, TOPIC, "orders", "cleanup.policy", "compact") == "INVALID_CONFIG"
    assert _set(cluster, TOPIC, "orders", "local.retention.ms", str(2**40)) == "INVALID_CONFIG"
    assert _set(cluster, TOPIC, "orders", "local.retention.ms", "1000") == "NONE"
    assert _set(cluster, TOPIC, "orders", "retention.ms", "999") == "INVALID_CONFIG"


def test_replacing_deletes_what_is_not_named(cluster: Cluster) -> None:
    _set(cluster, TOPIC, "orders", "retention.ms", "5")
    _set(cluster, TOPIC, "orders", "segment.ms", "6")
    changes = (ConfigChange("segment.ms", "6"), ConfigChange("flush.ms", "7"))
    assert _ask(cluster, TOPIC, "orders", *changes, replace=True).refusal is None
    assert cluster.image.config(TOPIC, "orders") == {"segment.ms": "6", "flush.ms": "7"}
    assert len(cluster.records) == 2  # the unchanged one is not written


def test_refused_replacement_changes_nothing(cluster: Cluster) -> None:
    _set(cluster, TOPIC, "orders", "retention.ms", "5")
    result = _ask(cluster, TOPIC, "orders", ConfigChange("segment.ms", "x"), replace=True)
    assert result.refusal is not None
    assert cluster.image.config(TOPIC, "orders") == {"retention.ms": "5"}


def test_configs_are_replaced_by_values_only(cluster: Cluster) -> None:
    resource = ResourceChange(
        resource_type=TOPIC, resource_name="orders", changes=(_delete("retention.ms"),)
    )
    error = cluster.refused(replace_configs, ReplaceConfigs(resources=(resource,)))
    assert error.code == "INVALID_REQUEST"


def test_loggers_are_not_replaced(cluster: Cluster) -> None:
    result = _ask(cluster, BROKER_LOGGER, "1", ConfigChange("a", "INFO"), replace=True)
    assert result.refusal is not None
    assert result.refusal.code == "INVALID_REQUEST"


def test_a_hint_about_an_unknown_config_takes_little_work() -> None:
    unknown_config(TOPIC, "x")  # the known names are prepared once
    for name in ("invented-1", "retension.mss", "x" * 100_000):
        assert lines_run(partial(unknown_config, TOPIC, name)) < 300
