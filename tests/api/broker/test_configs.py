"""The value of a config that a broker uses, when it is set at several levels."""

import pytest

from api.broker.configs import broker_configs, delete_stale_delay_ms
from api.kafka.messages.replicas import BrokerConfig
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from tests.controller.cluster import Cluster

NAME = "delete.stale.topic.delay.ms"
DEFAULT_MS = 14_400_000


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    return cluster


def change(cluster: Cluster, resource: str, value: str | None) -> str | None:
    """Set or delete a config; return the error code if it is refused."""
    operation = Operation.DELETE if value is None else Operation.SET
    made = ConfigChange(name=NAME, operation=operation, value=value)
    resource_change = ResourceChange(resource_type=BROKER, resource_name=resource, changes=(made,))
    (result,) = cluster.do(alter_configs, AlterConfigs(resources=(resource_change,)))
    return None if result.refusal is None else str(result.refusal.code)


def counts(cluster: Cluster, static: str | None = None, own: int | None = None) -> int:
    configs = broker_configs(cluster.image, 1, {} if static is None else {NAME: static})
    return delete_stale_delay_ms(configs, own)


def test_nearest_level_counts(cluster: Cluster) -> None:
    assert counts(cluster) == DEFAULT_MS
    assert counts(cluster, static="4") == 4
    assert counts(cluster, static="4", own=3) == 3
    change(cluster, CLUSTER_DEFAULT, "2")
    assert counts(cluster, static="4", own=3) == 2
    change(cluster, "2", "7")
    assert counts(cluster, static="4", own=3) == 2
    change(cluster, "1", "0")
    assert counts(cluster, static="4", own=3) == 0
    change(cluster, "1", None)
    change(cluster, CLUSTER_DEFAULT, None)
    assert counts(cluster, own=3) == 3


@pytest.mark.parametrize("value", ["-1", "soon", ""])
def test_delay_must_be_a_number_of_milliseconds(cluster: Cluster, value: str) -> None:
    assert change(cluster, "1", value) == "INVALID_CONFIG"


@pytest.mark.parametrize("value", ["-1", "soon"])
def test_value_of_a_log_from_elsewhere_is_passed_over(value: str) -> None:
    assert delete_stale_delay_ms([BrokerConfig(name=NAME, value=value)], None) == DEFAULT_MS
    assert delete_stale_delay_ms([BrokerConfig(name=NAME, value=value)], 5) == 5
