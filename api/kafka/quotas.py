"""Requests about client quotas: conversion between Kafka's messages and our commands."""

from collections.abc import Iterable

from api.kafka.errors import code_of, refusal_code, refusal_message
from api.kafka.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryResult,
    QuotaEntryData,
    ValueData,
)
from controller.decisions.outcome import Refusal
from controller.decisions.quotas.client_quotas import (
    AlterQuotas,
    EntityChange,
    QuotaChange,
    QuotaResult,
)
from controller.descriptions.quotas import (
    DescribeQuotas,
    EntityQuotas,
    Match,
    QuotaFilter,
    QuotaValue,
)
from controller.results.quota_charges import MUTATION_RATE
from records.errors import RequestError

Entity = tuple[tuple[str, str | None], ...]

# An entity's quotas are a hash map in Kafka. This is its order for up to three keys, which the
# suite of @platformatic/kafka 1.35 compares; unknown keys of imported logs come last.
_KEYS = ("consumer_byte_rate", MUTATION_RATE, "request_percentage", "producer_byte_rate")
_RANKS = {key: rank for rank, key in enumerate(_KEYS)}


def description(request: DescribeClientQuotasRequest) -> DescribeQuotas:
    """Return the query for a DescribeClientQuotas.

    Raises:
        RequestError: INVALID_REQUEST, the match type does not exist.
    """
    return DescribeQuotas(
        filters=tuple([_filter(component) for component in request.components]),
        strict=request.strict,
    )


def description_response(found: Iterable[EntityQuotas]) -> DescribeClientQuotasResponse:
    """Return the response with the quotas of each matching entity, in Kafka's order."""
    return DescribeClientQuotasResponse(
        entries=tuple(
            [
                QuotaEntryData(
                    entity=_entity_data(each.entity),
                    values=tuple(
                        [
                            ValueData(key=q.key, value=q.value)
                            for q in sorted(each.quotas, key=_rank)
                        ]
                    ),
                )
                for each in sorted(found, key=lambda each: len(each.entity))
            ]
        )
    )


def description_refused(error: RequestError) -> DescribeClientQuotasResponse:
    """Return the response to a refused DescribeClientQuotas."""
    return DescribeClientQuotasResponse(error_code=code_of(error.code), error_message=str(error))


def alteration(request: AlterClientQuotasRequest) -> AlterQuotas:
    """Return the command for an AlterClientQuotas."""
    return AlterQuotas(
        entities=tuple(
            [
                EntityChange(
                    entity=_entity(entry.entity),
                    changes=tuple(
                        [QuotaChange(op.key, None if op.remove else op.value) for op in entry.ops]
                    ),
                )
                for entry in request.entries
            ]
        ),
        validate_only=request.validate_only,
    )


def alteration_response(results: Iterable[QuotaResult]) -> AlterClientQuotasResponse:
    """Return the response with the result of each entity, whose types are sorted, as in Kafka."""
    return AlterClientQuotasResponse(
        entries=tuple(
            [
                EntryResult(
                    error_code=refusal_code(result.refusal),
                    error_message=refusal_message(result.refusal),
                    entity=_entity_data(result.entity),
                )
                for result in results
            ]
        )
    )


def alteration_refused(
    request: AlterClientQuotasRequest, error: RequestError
) -> AlterClientQuotasResponse:
    """Return the response to a request that is refused as a whole."""
    refusal = Refusal.of(error)
    return alteration_response(
        [QuotaResult(entity=_entity(entry.entity), refusal=refusal) for entry in request.entries]
    )


def _rank(quota: QuotaValue) -> int:
    return _RANKS.get(quota.key, len(_RANKS))


def _filter(component: ComponentData) -> QuotaFilter:
    try:
        match = Match(component.match_type)
    except ValueError:
        raise RequestError(
            "INVALID_REQUEST",
            f"there is no match type {component.match_type}; use 0 (exact), 1 (default) or 2 (any)",
        ) from None
    return QuotaFilter(entity_type=component.entity_type, match=match, name=component.match)


def _entity(data: Iterable[EntityData]) -> Entity:
    return tuple([(part.entity_type, part.entity_name) for part in data])


def _entity_data(entity: Entity) -> tuple[EntityData, ...]:
    pairs = sorted(entity, key=lambda pair: pair[0])
    return tuple([EntityData(entity_type=kind, entity_name=name) for kind, name in pairs])
