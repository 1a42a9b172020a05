"""Runs the tests of decisions about topics a second time, inside a namespace."""

import pytest

from tests.controller.cluster import Cluster

# Not those that are about namespaces, or that look up configs and topics by name themselves.
_ALSO_INSIDE = frozenset(
    {
        "test_alter_partition",
        "test_alter_topics",
        "test_brokers",
        "test_cluster_index",
        "test_configs",
        "test_directories",
        "test_elections",
        "test_growth",
        "test_heartbeats",
        "test_partition_removal",
        "test_reassignments",
        "test_topics",
    }
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test of those modules the default namespace, and another one."""
    if metafunc.module.__name__.rpartition(".")[2] in _ALSO_INSIDE:
        metafunc.parametrize(
            "namespace_of_cluster", ["", "org:team"], ids=["default", "inside"], indirect=True
        )


# Automatic, so that it comes before the fixtures that make clusters.
@pytest.fixture(autouse=True)
def namespace_of_cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch every cluster of a test to a namespace."""
    monkeypatch.setattr(Cluster, "namespace", getattr(request, "param", ""))
