"""Changes of configs, and the effective value."""

from typing import Any

import pytest
from msgspec.structs import replace

from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
    ResourceResult,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, min_isr, topic_config
from records.configs import ConfigRecord
from replay.image.configs import TOPIC
from tests.controller.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1)
    cluster.create("orders", [1], configs=(("retention.ms", "5"),))
    return cluster


def _resource(*changes: ConfigChange, type_: int = TOPIC, name: str = "orders") -> ResourceChange:
    return ResourceChange(resource_type=type_, resource_name=name, changes=changes)


def _alter(cluster: Cluster, *resources: ResourceChange, **fields: Any) -> list[str]:
    """Return the code of each resource's result."""
    results: tuple[ResourceResult, ...] = cluster.do(
        alter_configs, AlterConfigs(resources=resources, **fields)
    )
    return [result.refusal.code if result.refusal else "NONE" for result in results]


def _set(cluster: Cluster, name: str, value: str) -> list[str]:
    return _alter(cluster, _resource(ConfigChange(name, value)))


def _record(cluster: Cluster, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=TOPIC, resource_name=cluster.full_name("orders"), name=name, value=value
    )


def _own(cluster: Cluster) -> dict[str, str]:
    """Return the configs that are set on the topic itself."""
    return dict(cluster.image.config(TOPIC, cluster.full_name("orders")))


def _delete(name: str) -> ConfigChange:
    return ConfigChange(name, operation=Operation.DELETE)


def test_set_and_delete_write_one_record_each(cluster: Cluster) -> None:
    changes = (ConfigChange("segment.ms", "7"), _delete("retention.ms"))
    assert _alter(cluster, _resource(*changes)) == ["NONE"]
    assert cluster.records == (
        _record(cluster, "segment.ms", "7"),
        _record(cluster, "retention.ms", None),
    )
    assert _own(cluster) == {"segment.ms": "7"}


def test_a_value_that_stays_the_same_writes_nothing(cluster: Cluster) -> None:
    changes = (ConfigChange("retention.ms", "5"), _delete("segment.ms"))
    assert _alter(cluster, _resource(*changes)) == ["NONE"]
    assert cluster.records == ()


def test_a_brokers_value_is_written_again_so_that_it_reads_its_configs_again(
    cluster: Cluster,
) -> None:
    resource = _resource(ConfigChange("num.io.threads", "8"), type_=BROKER, name="1")
    for _ in range(2):
        assert _alter(cluster, resource) == ["NONE"]
        assert len(cluster.records) == 1


def test_append_and_subtract_work_on_lists(cluster: Cluster) -> None:
    def change(operation: Operation, value: str) -> str | None:
        changed = ConfigChange("cleanup.policy", value, operation)
        assert _alter(cluster, _resource(changed)) == ["NONE"]
        return _own(cluster).get("cleanup.policy")

    # The base of the first is the built-in default.
    assert change(Operation.APPEND, "compact") == "delete,compact"
    assert change(Operation.APPEND, "compact") == "delete,compact"
    assert change(Operation.SUBTRACT, "delete") == "compact"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (ConfigChange("retention.ms", "5", Operation.APPEND), "INVALID_CONFIG"),
        (ConfigChange("retention.ms", None), "INVALID_REQUEST"),
        (ConfigChange("retention.ms", "1.5"), "INVALID_CONFIG"),
        (ConfigChange("retention.ms", "-2"), "INVALID_CONFIG"),
        (ConfigChange("retention.ms", "1_000"), "INVALID_CONFIG"),
        (ConfigChange("min.cleanable.dirty.ratio", "0.2_5"), "INVALID_CONFIG"),
        (ConfigChange("retention.ms", str(2**63)), "INVALID_CONFIG"),
        (ConfigChange("cleanup.policy", "delete,burn"), "INVALID_CONFIG"),
        (ConfigChange("compression.type", "rar"), "INVALID_CONFIG"),
        (ConfigChange("preallocate", "yes"), "INVALID_CONFIG"),
        (ConfigChange("min.insync.replicas", "0"), "INVALID_CONFIG"),
        (ConfigChange("min.cleanable.dirty.ratio", "1.1"), "INVALID_CONFIG"),
        (ConfigChange("min.cleanable.dirty.ratio", "nan"), "INVALID_CONFIG"),
        (ConfigChange("leader.replication.throttled.replicas", "1-2"), "INVALID_CONFIG"),
        (ConfigChange("no.such.config", "1"), "INVALID_CONFIG"),
    ],
)
def test_what_a_topic_cannot_have_is_refused(
    cluster: Cluster, change: ConfigChange, code: str
) -> None:
    assert _alter(cluster, _resource(change)) == [code]
    assert cluster.records == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "-1"),
        ("cleanup.policy", "compact, delete"),
        ("preallocate", "TRUE"),
        ("min.cleanable.dirty.ratio", "1"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("leader.replication.throttled.replicas", "*"),
        ("local.retention.bytes", "-2"),
    ],
)
def test_what_a_topic_can_have_is_taken(cluster: Cluster, name: str, value: str) -> None:
    assert _set(cluster, name, value) == ["NONE"]


def test_the_whole_resulting_map_must_be_valid(cluster: Cluster) -> None:
    assert _set(cluster, "max.compaction.lag.ms", "10") == ["NONE"]
    assert _set(cluster, "min.compaction.lag.ms", "11") == ["INVALID_CONFIG"]
    assert _set(cluster, "min.compaction.lag.ms", "10") == ["NONE"]


def test_one_refused_resource_does_not_stop_the_others(cluster: Cluster) -> None:
    bad, good = ConfigChange("retention.ms", "x"), ConfigChange("log.cleaner.threads", "2")
    codes = _alter(cluster, _resource(bad), _resource(good, type_=BROKER, name=""))
    assert codes == ["INVALID_CONFIG", "NONE"]
    assert cluster.image.config(BROKER, "") == {"log.cleaner.threads": "2"}


@pytest.mark.parametrize(
    ("type_", "name", "code"),
    [
        (TOPIC, "carts", "UNKNOWN_TOPIC_OR_PARTITION"),
        (BROKER, "9", "BROKER_ID_NOT_REGISTERED"),
        (BROKER, "one", "INVALID_REQUEST"),
        (BROKER, "-1", "INVALID_REQUEST"),
        (BROKER, "01", "INVALID_REQUEST"),
        (BROKER, "1" * 5_000, "INVALID_REQUEST"),
        (64, "anything", "INVALID_REQUEST"),
    ],
)
def test_what_is_not_there_cannot_be_configured(
    cluster: Cluster, type_: int, name: str, code: str
) -> None:
    change = ConfigChange("retention.ms" if type_ == TOPIC else "num.io.threads", "1")
    assert _alter(cluster, _resource(change, type_=type_, name=name)) == [code]
    assert cluster.records == ()


def test_what_is_named_twice_is_refused(cluster: Cluster) -> None:
    twice = _resource(ConfigChange("segment.ms", "1"), _delete("segment.ms"))
    assert _alter(cluster, twice) == ["INVALID_REQUEST"]
    once = _resource(ConfigChange("segment.ms", "1"))
    assert _alter(cluster, once, once) == ["INVALID_REQUEST"] * 2


def test_a_request_that_only_validates_writes_nothing(cluster: Cluster) -> None:
    resource = _resource(ConfigChange("segment.ms", "1"))
    assert _alter(cluster, resource, validate_only=True) == ["NONE"]
    assert cluster.records == ()


def test_a_server_level_value_that_topics_could_not_read_is_refused(cluster: Cluster) -> None:
    for name, value, code in (
        ("log.retention.hours", "soon", "INVALID_CONFIG"),
        ("log.retention.hours", "-1", "NONE"),
        ("min.insync.replicas", "0", "INVALID_CONFIG"),
        ("unknown.to.brokers", "anything", "INVALID_CONFIG"),
    ):
        resource = _resource(ConfigChange(name, value), type_=BROKER, name="")
        assert _alter(cluster, resource) == [code]


def test_the_nearest_level_that_sets_a_value_counts(cluster: Cluster) -> None:
    cluster.settings = replace(cluster.settings, node_id=1, static_configs={"log.roll.ms": "40"})
    topic = cluster.topic("orders")

    def counts() -> str:
        return topic_config(cluster.context(), topic, "segment.ms")

    def configure(type_: int, name: str, config: str, value: str) -> None:
        _alter(cluster, _resource(ConfigChange(config, value), type_=type_, name=name))

    assert counts() == "40"
    configure(BROKER, "", "log.roll.ms", "30")
    assert counts() == "30"
    configure(BROKER, "1", "log.roll.ms", "20")
    assert counts() == "20"
    configure(TOPIC, "orders", "segment.ms", "10")
    assert counts() == "10"


def test_a_value_in_another_unit_is_converted(cluster: Cluster) -> None:
    topic = cluster.create("carts", [1])
    hours = _resource(ConfigChange("log.retention.hours", "2"), type_=BROKER, name="")
    _alter(cluster, hours)
    assert topic_config(cluster.context(), topic, "retention.ms") == "7200000"
    minutes = _resource(ConfigChange("log.retention.minutes", "1"), type_=BROKER, name="")
    _alter(cluster, minutes)
    assert topic_config(cluster.context(), topic, "retention.ms") == "60000"
    without_limit = _resource(ConfigChange("log.retention.minutes", "-1"), type_=BROKER, name="")
    _alter(cluster, without_limit)
    assert topic_config(cluster.context(), topic, "retention.ms") == "-1"


def test_what_a_log_from_elsewhere_sets_and_nobody_can_read_stops_nothing(
    cluster: Cluster,
) -> None:
    topic = cluster.create("carts", [1])
    for value in ("many", "9" * 5_000):
        cluster.write(
            [
                ConfigRecord(resource_type=BROKER, resource_name="", name=name, value=value)
                for name in ("log.retention.hours", "min.insync.replicas")
            ]
        )
        assert topic_config(cluster.context(), topic, "retention.ms") == value
        assert min_isr(cluster.context(), topic) == 1


def test_every_built_in_default_is_valid() -> None:
    for definition in TOPIC_CONFIGS.values():
        definition.check(definition.default)
