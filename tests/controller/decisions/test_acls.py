"""ACLs with ranges of hosts, which brokers before Kafka 4.4 do not support."""

import pytest

from controller.authorization.acls import HOST_RANGES_LEVEL
from controller.decisions.acls import AclBinding, CreateAcls, create_acls
from controller.decisions.levels import METADATA_VERSION
from tests.controller.cluster import Cluster

RANGE = AclBinding(
    resource_type=2, resource_name="t", principal="User:bob", operation=3, host="10.0.0.0/8"
)


@pytest.mark.parametrize(
    ("level", "error"), [(HOST_RANGES_LEVEL - 1, "UNSUPPORTED_VERSION"), (HOST_RANGES_LEVEL, None)]
)
def test_range_of_hosts_needs_a_level(level: int, error: str | None) -> None:
    cluster = Cluster({METADATA_VERSION: level})
    (created,) = create_acls(cluster.context(), CreateAcls(acls=(RANGE,))).response
    assert (created.refusal and created.refusal.code) == error
