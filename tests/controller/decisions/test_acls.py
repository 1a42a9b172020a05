"""ACLs with ranges of hosts, which brokers before Kafka 4.4 do not support; what filters
select, and what that costs.
"""

import itertools

import msgspec
import pytest

from controller.authorization.acls import HOST_RANGES_LEVEL
from controller.decisions.levels import METADATA_VERSION
from controller.decisions.security import acls
from controller.decisions.security.acls import (
    AclBinding,
    AclFilter,
    CreateAcls,
    DeleteAcls,
    create_acls,
    delete_acls,
    in_order,
    select_acls,
)
from records.errors import RequestError
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


@pytest.mark.parametrize(
    ("host", "error"),
    [("10.0.0.0/8", None), ("10.1.2.3/8", None), ("10.0.0.0/33", "INVALID_REQUEST")],
)
def test_a_range_may_be_written_with_any_of_its_addresses(host: str, error: str | None) -> None:
    cluster = Cluster({METADATA_VERSION: HOST_RANGES_LEVEL})
    binding = msgspec.structs.replace(RANGE, host=host)
    (created,) = create_acls(cluster.context(), CreateAcls(acls=(binding,))).response
    assert (created.refusal and created.refusal.code) == error


LITERAL, PREFIXED, MATCH, ANY_PATTERN = 3, 4, 2, 1


def _with_acls(count: int) -> Cluster:
    cluster = Cluster({METADATA_VERSION: HOST_RANGES_LEVEL})
    for kind, principal in itertools.product((LITERAL, PREFIXED), ("User:ann", "User:bob")):
        bindings = [
            AclBinding(
                resource_type=2,
                resource_name=f"t{number}",
                pattern_type=kind,
                principal=principal,
                operation=3,
            )
            for number in range(count)
        ]
        cluster.do(create_acls, CreateAcls(acls=tuple(bindings)))
    return cluster


def test_filters_that_name_patterns_select_what_a_comparison_with_all_does() -> None:
    image = _with_acls(12).image
    for types, name, kind, principal in itertools.product(
        ((), (2,), (2, 4), (4,)),
        (None, "t1", "t11", "x"),
        (LITERAL, PREFIXED, MATCH, ANY_PATTERN),
        (None, "User:ann"),
    ):
        wanted = AclFilter(
            resource_types=types, resource_name=name, pattern_type=kind, principal=principal
        )
        expected = in_order(acl for acl in image.acls() if wanted.matches(acl))
        assert select_acls(image, wanted) == expected, wanted


def test_filters_are_compared_with_few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls, "COMPARISONS_MAX", 60)
    cluster = _with_acls(10)
    everything = AclFilter(principal="User:ann")
    named = AclFilter(resource_types=(2,), resource_name="t1", pattern_type=LITERAL)

    def deleted(*filters: AclFilter) -> int:
        result = delete_acls(cluster.context(), DeleteAcls(filters=filters))
        return len(result.records)

    assert deleted(everything) == 20
    assert deleted(everything, named) == 21
    assert deleted(*[named] * 30) == 2
    for filters in ((everything, everything), [named] * 31):
        with pytest.raises(RequestError, match="compared with more than 60 entries") as caught:
            deleted(*filters)
        assert caught.value.code == "POLICY_VIOLATION"


def test_one_filter_is_compared_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls, "COMPARISONS_MAX", 1)
    result = delete_acls(_with_acls(3).context(), DeleteAcls(filters=(AclFilter(),)))
    assert len(result.records) == 12
