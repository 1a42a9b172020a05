"""Describes client quotas: those that match a filter, or those that apply to one client.

Source: KIP-546; ClientQuotasImage of Kafka 4.0 (matching).
"""

import enum
from collections import defaultdict

import msgspec

from controller.decisions.context.quota_entities import (
    CLIENT_ID,
    IP,
    TYPES,
    USER,
    applying_entities,
    one_form,
)
from controller.decisions.quotas.client_quotas import CLIENT_KEYS, IP_KEYS
from controller.decisions.request import Request
from controller.descriptions.view import View
from records.errors import RequestError
from replay.image.quotas import QuotaEntity


class Match(enum.Enum):
    """How a filter matches names, with Kafka's numbers: a given name, the default, or any."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects entities of a type; `name` is only used for EXACT."""

    entity_type: str
    match: Match = Match.ANY
    name: str | None = None

    def matches(self, entity: QuotaEntity) -> bool:
        """True if an entity has the filter's type and a matching name."""
        names, kind = dict(entity), self.entity_type
        if kind not in names:
            return False
        found = names[kind]
        if self.match is Match.ANY or found is None or self.name is None:
            return self.match is Match.ANY or found == self.name
        return one_form(kind, found) == one_form(kind, self.name)


class DescribeQuotas(Request["tuple[EntityQuotas, ...]"], frozen=True, kw_only=True):
    """A request for the quotas of entities that match all filters.

    `strict`: only entities that have no types besides those of the filters.
    """

    filters: tuple[QuotaFilter, ...] = ()
    strict: bool = False


class QuotaValue(msgspec.Struct, frozen=True):
    """A quota: its key and value."""

    key: str
    value: float


class EntityQuotas(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of one entity, by key."""

    entity: tuple[tuple[str, str | None], ...]
    quotas: tuple[QuotaValue, ...]


class ExplainQuotas(Request["tuple[QuotaExplanation, ...]"], frozen=True, kw_only=True):
    """A request for the quotas that apply to a client."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None


class QuotaCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that matches a client, and its quota."""

    entity: tuple[tuple[str, str | None], ...]
    value: float


class QuotaExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """A quota key and the values that match the client, most specific first: the first applies.

    If there are none, the client is not limited.
    """

    key: str
    candidates: tuple[QuotaCandidate, ...]


def quotas_described(view: View, request: DescribeQuotas) -> tuple[EntityQuotas, ...]:
    """Describe quotas, ordered by entity.

    Raises:
        RequestError: INVALID_REQUEST or UNSUPPORTED_VERSION, a filter is not valid.
    """
    _check_filters(request.filters)
    if request.strict and not request.filters:
        return ()
    found: dict[QuotaEntity, list[QuotaValue]] = defaultdict(list)
    for quota in view.image.quotas():
        is_strict = not request.strict or len(quota.entity) == len(request.filters)
        if is_strict and all(filter_.matches(quota.entity) for filter_ in request.filters):
            found[quota.entity].append(QuotaValue(quota.key, quota.value))
    return tuple(
        [
            EntityQuotas(entity=entity, quotas=tuple(sorted(found[entity], key=lambda q: q.key)))
            for entity in sorted(found, key=_order)
        ]
    )


def quotas_explained(view: View, request: ExplainQuotas) -> tuple[QuotaExplanation, ...]:
    """Return, for each quota key, the values that match a client.

    Raises:
        RequestError: INVALID_REQUEST, the request has no client.
    """
    given = ((USER, request.user), (CLIENT_ID, request.client_id), (IP, request.ip))
    names = {kind: name for kind, name in given if name is not None}
    if not names:
        raise RequestError("INVALID_REQUEST", "name a user, a client id, or an ip")
    keys = (
        *(CLIENT_KEYS if USER in names or CLIENT_ID in names else ()),
        *(IP_KEYS if IP in names else ()),
    )
    entities = list(applying_entities(names))
    return tuple(
        [QuotaExplanation(key=key, candidates=_candidates(view, entities, key)) for key in keys]
    )


def _candidates(view: View, entities: list[QuotaEntity], key: str) -> tuple[QuotaCandidate, ...]:
    found = [(entity, view.image.quota(entity, key)) for entity in entities]
    return tuple([QuotaCandidate(entity=e, value=value) for e, value in found if value is not None])


def _check_filters(filters: tuple[QuotaFilter, ...]) -> None:
    types = [filter_.entity_type for filter_ in filters]
    for filter_ in filters:
        kind = filter_.entity_type
        if not kind:
            raise _invalid("the entity type of a filter is empty")
        if types.count(kind) > 1:
            raise _invalid(f"the entity type {kind} is in the filter more than once")
        if kind not in TYPES:
            raise RequestError("UNSUPPORTED_VERSION", f"there is no entity type {kind!r}")
        if (filter_.match is Match.EXACT) != (filter_.name is not None):
            raise _invalid(f"{kind}: an exact match needs a name, and any other match takes none")
    if IP in types and len(types) > 1:
        raise _invalid("an ip cannot be combined with a user or a client id")


def _order(entity: QuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    return tuple([(kind, name is not None, name or "") for kind, name in entity])


def _invalid(reason: str) -> RequestError:
    return RequestError("INVALID_REQUEST", reason)
