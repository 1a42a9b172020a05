"""The quotas that match a filter or apply to a client, compared with independent models."""

import itertools
import random

import pytest

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
from controller.results.quota_charges import MUTATION_RATE
from records.envelope import Origin
from records.errors import RequestError
from tests.controller.cluster import Cluster

Entity = tuple[tuple[str, str | None], ...]

_NAMES = ("ann", "bob", None)
_ENTITIES: list[Entity] = [
    *[(("user", name),) for name in _NAMES],
    *[(("client-id", name),) for name in _NAMES],
    *[(("client-id", c), ("user", u)) for c, u in itertools.product(_NAMES, _NAMES)],
    *[(("ip", name),) for name in ("10.0.0.1", "10.0.0.2", None)],
]


def _key(entity: Entity) -> str:
    return "connection_creation_rate" if entity[0][0] == "ip" else MUTATION_RATE


def _cluster(entities: list[Entity]) -> Cluster:
    """Return a cluster with a quota for each entity; its value is its index in `_ENTITIES`, from
    1.
    """
    cluster = Cluster()
    for entity in entities:
        change = QuotaChange(_key(entity), float(_ENTITIES.index(entity) + 1))
        request = AlterQuotas(entities=(EntityChange(entity=entity, changes=(change,)),))
        (result,) = cluster.do(alter_quotas, request)
        assert result.refusal is None
    return cluster


_FILTERS = [
    None,
    *[QuotaFilter(entity_type="", match=Match.EXACT, name=name) for name in ("ann", "10.0.0.1")],
    QuotaFilter(entity_type="", match=Match.DEFAULT),
    QuotaFilter(entity_type="", match=Match.ANY),
]


def _matches(entity: Entity, filters: dict[str, QuotaFilter], *, strict: bool) -> bool:
    """True if a quota matches the filters by the rules of KIP-546, written one by one."""
    for kind, wanted in filters.items():
        named = [name for of, name in entity if of == kind]
        if not named:
            return False
        if wanted.match is Match.EXACT and named != [wanted.name]:
            return False
        if wanted.match is Match.DEFAULT and named != [None]:
            return False
    if strict:
        return {kind for kind, _ in entity} == set(filters)
    return True


@pytest.mark.parametrize("strict", [False, True])
def test_filters_find_what_the_proposal_says(strict: bool) -> None:
    view = View.of(_cluster(_ENTITIES).image)
    for user, client, ip in itertools.product(_FILTERS, _FILTERS, _FILTERS):
        given = {
            kind: QuotaFilter(entity_type=kind, match=wanted.match, name=wanted.name)
            for kind, wanted in (("user", user), ("client-id", client), ("ip", ip))
            if wanted is not None
        }
        request = DescribeQuotas(filters=tuple(given.values()), strict=strict)
        if "ip" in given and len(given) > 1:
            with pytest.raises(RequestError, match="cannot be combined"):
                quotas_described(view, request)
            continue
        found = {each.entity for each in quotas_described(view, request)}
        wanted_ones = {e for e in _ENTITIES if _matches(e, given, strict=strict)}
        assert found == wanted_ones, given


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ([QuotaFilter(entity_type="")], "INVALID_REQUEST"),
        ([QuotaFilter(entity_type="user"), QuotaFilter(entity_type="user")], "INVALID_REQUEST"),
        ([QuotaFilter(entity_type="group")], "UNSUPPORTED_VERSION"),
        ([QuotaFilter(entity_type="user", match=Match.EXACT)], "INVALID_REQUEST"),
        ([QuotaFilter(entity_type="user", match=Match.DEFAULT, name="a")], "INVALID_REQUEST"),
        ([QuotaFilter(entity_type="user", match=Match.ANY, name="a")], "INVALID_REQUEST"),
    ],
)
def test_filter_that_is_not_valid_is_refused(filters: list[QuotaFilter], code: str) -> None:
    with pytest.raises(RequestError) as caught:
        quotas_described(View.of(Cluster().image), DescribeQuotas(filters=tuple(filters)))
    assert caught.value.code == code


# KIP-257, "Quota configuration": the order in which a quota is looked for.
_ORDER = (
    (("client-id", "{client}"), ("user", "{user}")),
    (("client-id", None), ("user", "{user}")),
    (("user", "{user}"),),
    (("client-id", "{client}"), ("user", None)),
    (("client-id", None), ("user", None)),
    (("user", None),),
    (("client-id", "{client}"),),
    (("client-id", None),),
)


def _in_order(user: str, client: str) -> list[Entity]:
    return [
        tuple((kind, name and name.format(user=user, client=client)) for kind, name in entity)
        for entity in _ORDER
    ]


def test_the_most_specific_quota_applies_and_is_the_one_that_is_enforced() -> None:
    rng = random.Random(7)
    for _ in range(200):
        held = rng.sample(_ENTITIES, rng.randrange(len(_ENTITIES)))
        cluster = _cluster(held)
        user, client = rng.choice(("ann", "zoe")), rng.choice(("bob", "app"))
        expected = [e for e in _in_order(user, client) if e in held]
        request = ExplainQuotas(user=user, client_id=client)
        explained = {e.key: e for e in quotas_explained(View.of(cluster.image), request)}
        found = explained[MUTATION_RATE].candidates
        assert [c.entity for c in found] == expected
        assert not explained["producer_byte_rate"].candidates
        origin = Origin(principal=f"User:{user}", client=f"{client} at 127.0.0.1:5000")
        enforced = cluster.buckets.allowance(cluster.image, origin, cluster.now_ms)
        assert (enforced.rate if enforced.bucket else None) == (found[0].value if found else None)


def test_addresses_have_their_own_quota_or_the_default_one() -> None:
    view = View.of(_cluster(_ENTITIES).image)
    for ip, names in (("10.0.0.1", ["10.0.0.1", None]), ("10.9.9.9", [None])):
        (explained,) = quotas_explained(view, ExplainQuotas(ip=ip))
        assert [c.entity for c in explained.candidates] == [(("ip", name),) for name in names]
    with pytest.raises(RequestError, match="name a user"):
        quotas_explained(view, ExplainQuotas())
