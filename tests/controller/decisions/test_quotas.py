"""Quotas of IP addresses, which can be written in several forms."""

from typing import Any

from controller.decisions.quotas.client_quotas import (
    AlterQuotas,
    EntityChange,
    QuotaChange,
    alter_quotas,
)
from controller.descriptions.quotas import (
    DescribeQuotas,
    ExplainQuotas,
    Match,
    QuotaFilter,
    quotas_described,
    quotas_explained,
)
from controller.descriptions.view import View
from records.configs import ClientQuotaRecord, EntityData
from tests.controller.cluster import Cluster

_KEY = "connection_creation_rate"
_LONG, _SHORT = "2001:DB8:0:0:0:0:0:1", "2001:db8::1"


def _change(address: str, value: float | None) -> EntityChange:
    return EntityChange(entity=(("ip", address),), changes=(QuotaChange(_KEY, value),))


def _alter(cluster: Cluster, *changes: EntityChange) -> list[str]:
    results = cluster.do(alter_quotas, AlterQuotas(entities=changes))
    return [result.refusal.code if result.refusal else "NONE" for result in results]


def _held(cluster: Cluster) -> dict[Any, float]:
    return {quota.entity: quota.value for quota in cluster.image.quotas()}


def test_forms_of_an_address_mean_one_entity() -> None:
    cluster = Cluster()
    assert _alter(cluster, _change(_LONG, 5)) == ["NONE"]
    assert _held(cluster) == {(("ip", _SHORT),): 5}
    assert _alter(cluster, _change(_SHORT, 5)) == ["NONE"]
    assert cluster.records == ()
    assert _alter(cluster, _change(_LONG, 6), _change(_SHORT, 7)) == ["INVALID_REQUEST"] * 2
    view = View.of(cluster.image)
    by_address = QuotaFilter(entity_type="ip", match=Match.EXACT, name=_LONG)
    (found,) = quotas_described(view, DescribeQuotas(filters=(by_address,)))
    assert found.entity == (("ip", _SHORT),)
    (explained,) = quotas_explained(view, ExplainQuotas(ip=_LONG))
    assert [candidate.value for candidate in explained.candidates] == [5]
    assert _alter(cluster, _change(_LONG, None)) == ["NONE"]
    assert _held(cluster) == {}


def test_form_that_a_log_from_elsewhere_holds_can_be_replaced() -> None:
    cluster = Cluster()
    entity = (EntityData(entity_type="ip", entity_name=_LONG),)
    cluster.write([ClientQuotaRecord(entity=entity, key=_KEY, value=5.0, remove=False)])
    view = View.of(cluster.image)
    (explained,) = quotas_explained(view, ExplainQuotas(ip=_LONG))
    assert [candidate.value for candidate in explained.candidates] == [5]
    assert _alter(cluster, _change(_LONG, 6)) == ["NONE"]
    assert _held(cluster) == {(("ip", _SHORT),): 6}


def test_a_quota_in_whole_numbers_may_be_the_largest_of_its_type() -> None:
    largest = 2**31 - 1
    changes = [_change("10.0.0.1", largest), _change("10.0.0.2", largest + 1)]
    assert _alter(Cluster(), *changes) == ["NONE", "INVALID_REQUEST"]


def test_a_quota_changed_twice_is_refused_by_its_key() -> None:
    change = QuotaChange(_KEY, 5)
    twice = EntityChange(entity=(("ip", "10.0.0.1"),), changes=(change, change))
    (result,) = Cluster().do(alter_quotas, AlterQuotas(entities=(twice,)))
    assert result.refusal is not None
    assert _KEY in result.refusal.message
    assert "changed more than once" in result.refusal.message
