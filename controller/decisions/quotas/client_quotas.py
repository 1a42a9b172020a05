"""Client quotas: set and remove.

Source: KIP-546; ClientQuotaControlManager and QuotaConfigs of Kafka 4.0; docs/kafka_rules.md,
section 12.
"""

import math
from collections.abc import Mapping

import msgspec

from controller.decisions.context.context import Context, RecordList
from controller.decisions.context.quota_entities import IP, checked_entity, one_form
from controller.decisions.items import decide_each
from controller.decisions.names import named_more_than_once
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.results.quota_charges import MUTATION_RATE
from controller.results.result import ControllerResult
from records.configs import ClientQuotaRecord, EntityData
from records.errors import RequestError
from replay.image.quotas import QuotaEntity, canonical_entity

_LONG_MAX, _INT_MAX = 2**63 - 1, 2**31 - 1
# How far from a whole number Kafka accepts a value.
_EPSILON = 1e-6

CLIENT_KEYS: Mapping[str, float | None] = {
    "producer_byte_rate": _LONG_MAX,
    "consumer_byte_rate": _LONG_MAX,
    "request_percentage": None,
    MUTATION_RATE: None,
}
"""Quota keys of users and client ids, with the maximum of each; None if fractions are allowed."""

IP_KEYS: Mapping[str, float | None] = {"connection_creation_rate": _INT_MAX}
"""Quota keys of addresses, with the maximum of each."""


class QuotaChange(msgspec.Struct, frozen=True):
    """A quota to set; without a value, a quota to remove."""

    key: str
    value: float | None = None


class EntityChange(msgspec.Struct, frozen=True, kw_only=True):
    """Quota changes of one entity.

    `entity` consists of (type, name) pairs. The type is `user`, `client-id` or `ip`; the name None
    means the default.
    """

    entity: tuple[tuple[str, str | None], ...]
    changes: tuple[QuotaChange, ...]


class AlterQuotas(Request["tuple[QuotaResult, ...]"], frozen=True, kw_only=True):
    """A request to change the quotas of some entities."""

    entities: tuple[EntityChange, ...]
    validate_only: bool = False


class QuotaResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one entity; without a refusal, its changes are made."""

    entity: tuple[tuple[str, str | None], ...]
    refusal: Refusal | None = None


def alter_quotas(
    context: Context, request: AlterQuotas
) -> ControllerResult[tuple[QuotaResult, ...]]:
    """Change quotas; a refused entity does not stop the others. Refusals are INVALID_REQUEST.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    twice = named_more_than_once([_named(item) for item in request.entities])
    records = RecordList()

    def alter(item: EntityChange) -> QuotaResult:
        if _named(item) in twice:
            raise _invalid("the entity is named more than once in the request")
        records.add(*_records(context, item))
        return QuotaResult(entity=item.entity)

    results = decide_each(
        request.entities,
        alter,
        lambda item, refusal: QuotaResult(entity=item.entity, refusal=refusal),
    )
    return records.result(results, validate_only=request.validate_only)


def quota_keys(entity: QuotaEntity) -> Mapping[str, float | None]:
    """Return the quota keys that an entity can have, each with its maximum."""
    return IP_KEYS if entity[0][0] == IP else CLIENT_KEYS


def _records(context: Context, item: EntityChange) -> list[ClientQuotaRecord]:
    entity = checked_entity(item.entity)
    keys = quota_keys(entity)
    twice = named_more_than_once([change.key for change in item.changes])
    if twice:
        raise _invalid(f"the quota {min(twice)} is changed more than once")
    records = []
    for change in item.changes:
        if change.key not in keys:
            raise _invalid(f"the entity has no quota {change.key!r}, only {', '.join(keys)}")
        if change.value is not None:
            _check_value(change.key, change.value, keys[change.key])
        if change.value != context.image.quota(entity, change.key):
            records.append(_record(entity, change))
        # In a log from elsewhere it may stand in the form in which it was asked for.
        given = canonical_entity(item.entity)
        if given != entity and context.image.quota(given, change.key) is not None:
            records.append(_record(given, QuotaChange(change.key)))
    return records


def _named(item: EntityChange) -> frozenset[tuple[str, str | None]]:
    """Return a set that is equal for all spellings of an entity's names, to find duplicates."""
    return frozenset([(kind, name and one_form(kind, name)) for kind, name in item.entity])


def _check_value(key: str, value: float, whole_max: float | None) -> None:
    if not (math.isfinite(value) and value > 0):
        raise _invalid(f"{key} must be above 0, not {value:g}")
    if whole_max is None:
        return
    if abs(round(value) - value) > _EPSILON:
        raise _invalid(f"{key} must be a whole number, not {value!r}")
    if value > whole_max:
        raise _invalid(f"{key} must be at most {whole_max}, not {value:g}")


def _record(entity: QuotaEntity, change: QuotaChange) -> ClientQuotaRecord:
    return ClientQuotaRecord(
        entity=tuple([EntityData(entity_type=kind, entity_name=name) for kind, name in entity]),
        key=change.key,
        value=0.0 if change.value is None else change.value,
        remove=change.value is None,
    )


def _invalid(reason: str) -> RequestError:
    return RequestError("INVALID_REQUEST", reason)
